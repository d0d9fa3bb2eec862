// Do the expressions of the rules, a JSON array on standard input, pass the parser and type checks of Prometheus 3's own editor?
// Debian's promtool is that of Prometheus 2.
const { readFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const tools = createRequire(`${process.argv[2]}/`);
const { parser } = tools("@prometheus-io/lezer-promql");
const { EditorState } = tools("@codemirror/state");
const { LRLanguage, ensureSyntaxTree } = tools("@codemirror/language");
const { Parser } = tools("@prometheus-io/codemirror-promql/dist/cjs/parser/parser.js");

const language = LRLanguage.define({ parser: parser.configure({ top: "PromQL" }) });

function problems(expression) {
  const state = EditorState.create({ doc: expression, extensions: [language] });
  // An editor parses for some milliseconds and goes on later; this is the way to have all of it now.
  if (!ensureSyntaxTree(state, expression.length, 60_000)) {
    throw new Error(`not parsed within a minute: ${expression}`);
  }
  const check = new Parser(state.update({}).state);
  check.analyze();
  return check.getDiagnostics().map((found) => `${found.message} at ${expression.slice(found.from, found.to)}`);
}

if (problems("sum(rate(a)) + on b").length === 0) {
  throw new Error("the parser accepts nonsense: this check would find nothing");
}
const expressions = JSON.parse(readFileSync(0, "utf8"));
const found = expressions.flatMap((expression) => problems(expression).map((problem) => `${problem}, in:\n${expression}`));
found.forEach((problem) => console.error(problem));
console.log(`${expressions.length} expressions, ${found.length} problems`);
process.exit(found.length > 0 ? 1 : 0);
