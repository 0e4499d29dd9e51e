// Answers queries as the site's search box does: by the theme's own worker, with the index that was built.
// node search.cjs WORKER SCRIPT INDEX QUERY...; SCRIPT is the page's own, which changes what the worker gets.
// Prints a line of JSON for each query, the addresses of the pages found, best first.
const fs = require("fs")
const vm = require("vm")

const [worker, script, index, ...queries] = process.argv.slice(2)
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

class Worker {
  async postMessage(data) {
    await listener({ data })
    return answer.data
  }
}
vm.runInNewContext(fs.readFileSync(script, "utf8"), { Worker })

async function main() {
  const asked = new Worker()
  await asked.postMessage({ type: 0, data: { config, docs, options: { suggest: true } } })
  for (const query of queries) {
    const { items } = await asked.postMessage({ type: 2, data: query })
    console.log(JSON.stringify(items.map(found => found[0].location)))
  }
}

main()
