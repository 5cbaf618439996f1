import { createRequire } from 'node:module'
import { storableText } from '@groundstate/contract/storable'
import { messageOf } from '../error-code.ts'
import type { HclFile, Parsed, ParsedHcl } from './hcl.ts'

type Parser = { parse: (path: string, text: string) => Promise<Record<string, unknown>> }

// Loaded by this thread only: the parser is a WebAssembly program of 10 MB.
const { parse } = createRequire(import.meta.url)('@cdktn/hcl2json') as Parser

/** Maximum depth of brackets: deeper ones would overflow the parser's stack, which ends it. */
const MAX_DEPTH = 200
/** Maximum length of a problem, in characters: it may have an error for each line. */
const MAX_PROBLEM = 2000

// It prints the stack of its own failures, which the content of a file may cause.
Object.assign(console, { log: () => {}, warn: () => {} })

/** Entry of the thread that parses HCL. */
export default async function work(files: readonly HclFile[]): Promise<Parsed> {
  const parsed: ParsedHcl[] = []
  for (const { path, text } of files) {
    const file = await parseFile(path, text)
    if (file === undefined) return { files: parsed, isBroken: true }
    parsed.push(file)
  }
  return { files: parsed, isBroken: false }
}

async function parseFile(path: string, text: string): Promise<ParsedHcl | undefined> {
  if (isTooDeep(text)) return { path, problem: `it nests more than ${MAX_DEPTH} brackets` }
  try {
    return { path, body: await parse(path, text) }
  } catch (error) {
    const message = messageOf(error)
    // Anything else is a failure of the parser, such as a stack overflow: other expressions than brackets nest, too.
    if (!/^(?:parse|convert|marshal) /.test(message)) return undefined
    // `parse config: [a.hcl:1,2-3: Summary; Detail.]`
    const problem = /^parse config: \[(.*)\]$/s.exec(message)?.[1] ?? message
    return { path, problem: storableText(problem.slice(0, MAX_PROBLEM)) }
  }
}

function isTooDeep(text: string) {
  let depth = 0
  for (const [bracket] of text.matchAll(/[[\](){}]/g)) {
    depth += '[({'.includes(bracket) ? 1 : -1
    if (depth > MAX_DEPTH) return true
  }
  return false
}
