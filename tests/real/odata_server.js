// An OData 4 service over the rows of a JSON file: node odata_server.js PORT FILE, with NODE_PATH naming the packages.
const fs = require("fs");
const http = require("http");
const Datastore = require("nedb");
const odata = require("simple-odata-server");
const adapter = require("simple-odata-server-nedb");

const [port, file] = process.argv.slice(2);
const stores = {};
for (const [name, rows] of Object.entries(JSON.parse(fs.readFileSync(file)))) {
  stores[name] = new Datastore({ inMemoryOnly: true });
  stores[name].insert(rows.map((row, number) => ({ ...row, _id: String(number).padStart(6, "0") })));
}
const key = { type: "Edm.String", key: true };
const text = { type: "Edm.String" };
const number = { type: "Edm.Int32" };
const server = odata(`http://127.0.0.1:${port}`)
  .model({
    namespace: "race",
    entityTypes: {
      R: { _id: key, id: number, x: text, v: number },
      S: { _id: key, x: text, y: number, grp: text },
    },
    entitySets: { r: { entityType: "race.R" }, s: { entityType: "race.S" } },
  })
  .adapter(adapter((set, done) => done(null, stores[set])));
http.createServer((request, answer) => server.handle(request, answer)).listen(Number(port), "127.0.0.1");
