// Answers queries as the site's search box does: by the theme's own worker, with the index that was built.
// node search.cjs WORKER INDEX QUERY...; prints a line of JSON for each query, the addresses of the pages found, best first.
const fs = require("fs")
const vm = require("vm")

const [worker, index, ...queries] = process.argv.slice(2)
const { config, docs } = JSON.parse(fs.readFileSync(index, "utf8"))
let answer = null
let listener = null
const browser = {
  console, Object, Array, Map, Set, Promise, RegExp, String, Uint16Array, JSON, Math,
  addEventListener: (_, called) => { listener = called },
  postMessage: message => { answer = message },
}
browser.self = browser
vm.runInNewContext(fs.readFileSync(worker, "utf8"), browser)

async function ask(type, data) {
  await listener({ data: { type, data } })
  return answer.data
}

async function main() {
  await ask(0, { config, docs, options: { suggest: true } })
  for (const query of queries) {
    const { items } = await ask(2, query)
    console.log(JSON.stringify(items.map(found => found[0].location)))
  }
}

main()
