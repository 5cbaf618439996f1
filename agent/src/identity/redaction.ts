import { closeSync, openSync, readFileSync, readdirSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { linkStatsOf } from '../process/confined-file.ts'
import type { LogStream } from '../results/log-stream.ts'

/** A log without these texts, which a run could print. */
export function redacted(log: LogStream, secrets: readonly string[]): LogStream {
  return {
    ...log,
    write(output) {
      const bytes = Buffer.from(output)
      const found = secrets.filter((secret) => bytes.includes(secret))
      if (found.length === 0) return log.write(bytes)
      const text = found.reduce((rest, secret) => rest.replaceAll(secret, '(identity token)'), bytes.toString('latin1'))
      return log.write(Buffer.from(text, 'latin1'))
    },
  }
}

/**
 * Overwrites the tokens of an identity in the log of an engine that has outlived its agent. The log keeps its length: the server may have
 * its beginning.
 */
export function redactFile(path: string, identity: string) {
  const secrets = tokensIn(identity)
  if (secrets.length === 0 || linkStatsOf(path) === undefined) return
  const bytes = readFileSync(path)
  const descriptor = openSync(path, 'r+')
  try {
    for (const secret of secrets) {
      const mask = Buffer.alloc(secret.length, '*')
      for (let at = bytes.indexOf(secret); at !== -1; at = bytes.indexOf(secret, at + secret.length))
        writeSync(descriptor, mask, 0, mask.length, at)
    }
  } finally {
    closeSync(descriptor)
  }
}

function tokensIn(identity: string): string[] {
  if (linkStatsOf(identity)?.isDirectory() !== true) return []
  const paths = readdirSync(identity)
    .filter((name) => name.includes('token'))
    .map((name) => join(identity, name))
  const files = paths.filter((path) => linkStatsOf(path)?.isFile() === true)
  return files.map((path) => readFileSync(path, 'utf8')).filter((text) => text !== '')
}
