import { open, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { openConfined, readWhole } from '../process/confined-file.ts'
import type { LogStream } from '../results/log-stream.ts'
import { parseJson } from '../server/connection.ts'

/** Shorter texts are no tokens: they could be part of anything. */
const MIN_TOKEN_BYTES = 16
/** Maximum size of a file with the tokens of a phase, in bytes. */
const MAX_TOKENS_BYTES = 4 * 1024 * 1024
/** A file is masked in parts of this size, in bytes: other jobs continue meanwhile. */
const PART_BYTES = 1024 * 1024

/** A log without these tokens, which a run could print. */
export function redacted(log: LogStream, tokens: readonly string[]): LogStream {
  const texts = needlesOf(tokens).map((bytes) => bytes.toString('latin1'))
  return {
    ...log,
    write(output) {
      const text = Buffer.from(output).toString('latin1')
      const found = texts.filter((token) => text.includes(token))
      if (found.length === 0) return log.write(output)
      return log.write(
        Buffer.from(
          found.reduce((rest, token) => rest.replaceAll(token, '(identity token)'), text),
          'latin1',
        ),
      )
    },
  }
}

/** Keeps a copy of the tokens, outside the reach of the run, for the case that its engine outlives the agent. */
export async function storeTokens(path: string, tokens: readonly string[]) {
  await writeFile(path, JSON.stringify(tokens), { mode: 0o600 })
}

/** The tokens in this file; none if it does not exist. Throws if it is not what `storeTokens` writes. */
export async function readTokens(path: string): Promise<string[]> {
  using file = openConfined(path, { root: dirname(path), user: undefined })
  if (file === undefined) return []
  if (file.stats.size > MAX_TOKENS_BYTES) throw new Error(`${path} has more than ${MAX_TOKENS_BYTES} bytes`)
  const { data } = z.array(z.string()).safeParse(parseJson((await readWhole(file)).toString()))
  if (data === undefined) throw new Error(`${path} is not a list of tokens`)
  return data
}

/** Overwrites tokens in a log. The log keeps its length: the server may have its beginning. */
export async function maskFile(path: string, tokens: readonly string[]) {
  const needles = needlesOf(tokens)
  if (needles.length === 0) return
  // Parts overlap, since a token may be at the end of one.
  const overlap = Math.max(...needles.map(({ length }) => length)) - 1
  await using file = await open(path, 'r+')
  const space = Buffer.alloc(PART_BYTES + overlap)
  for (let at = 0; ; at += PART_BYTES) {
    const { bytesRead } = await file.read(space, 0, space.length, at)
    if (mask(space.subarray(0, bytesRead), needles)) {
      const { bytesWritten } = await file.write(space, 0, bytesRead, at)
      if (bytesWritten < bytesRead) throw new Error(`only ${bytesWritten} of ${bytesRead} bytes could be written`)
    }
    if (bytesRead < space.length) return
  }
}

/** Returns whether it has changed the bytes. */
function mask(bytes: Buffer, needles: readonly Buffer[]): boolean {
  let isChanged = false
  for (const needle of needles) {
    for (let at = bytes.indexOf(needle); at !== -1; at = bytes.indexOf(needle, at + needle.length)) {
      bytes.fill('*', at, at + needle.length)
      isChanged = true
    }
  }
  return isChanged
}

function needlesOf(tokens: readonly string[]): Buffer[] {
  return tokens.map((token) => Buffer.from(token)).filter(({ length }) => length >= MIN_TOKEN_BYTES)
}
