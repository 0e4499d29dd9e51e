// Answers queries as the site's search box does: by the site's worker, with the index that was built.
// node search.cjs WORKER INDEX < QUERIES, one a line; prints a line of JSON for each, the addresses of the pages found, best first.
const fs = require("fs")
const vm = require("vm")

const [worker, index] = process.argv.slice(2)
const { config, docs } = JSON.parse(fs.readFileSync(index, "utf8"))
let answer = null
let listener = null
vm.runInNewContext(fs.readFileSync(worker, "utf8"), {
  addEventListener: (_, called) => { listener = called },
  postMessage: message => { answer = message },
})
listener({ data: { type: 0, data: { config, docs, options: { suggest: true } } } })
for (const query of fs.readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  listener({ data: { type: 2, data: query } })
  console.log(JSON.stringify(answer.data.items.map(found => found[0].location)))
}
