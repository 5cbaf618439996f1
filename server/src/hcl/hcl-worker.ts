import { createRequire } from 'node:module'
import { messageOf } from '../error-code.ts'
import type { HclFile, ParsedHcl } from './hcl.ts'

type Parser = { parse: (path: string, text: string) => Promise<Record<string, unknown>> }

// Loaded by this thread only: the parser is a WebAssembly program of 10 MB.
const { parse } = createRequire(import.meta.url)('@cdktn/hcl2json') as Parser

/** Maximum depth of brackets: deeper ones would overflow the parser's stack, which ends it. */
const MAX_DEPTH = 200

/** Entry of the thread that parses HCL. */
export default async function work(files: readonly HclFile[]): Promise<ParsedHcl[]> {
  const parsed: ParsedHcl[] = []
  for (const { path, text } of files) parsed.push(await parseFile(path, text))
  return parsed
}

async function parseFile(path: string, text: string): Promise<ParsedHcl> {
  if (isTooDeep(text)) return { path, problem: `it nests more than ${MAX_DEPTH} brackets` }
  try {
    return { path, body: await parse(path, text) }
  } catch (error) {
    return { path, problem: problemOf(messageOf(error)) }
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

/** `parse config: [a.hcl:1,2-3: Summary; Detail.]` without its wrapping. */
function problemOf(message: string) {
  return /^parse config: \[(.*)\]$/s.exec(message)?.[1] ?? message
}
