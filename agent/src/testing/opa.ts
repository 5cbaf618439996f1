import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

/** The OPA that evaluates policies in tests. `directory` has all of its files. */
export type TestOpa = { path: string; directory: string; version: string; isStandIn: boolean }

let found: TestOpa | undefined

/** The `opa` on the PATH, or a stand-in for its command line; prints which one it is. */
export function testOpa(): TestOpa {
  found ??= onPath() ?? standInWithNotice()
  return found
}

function onPath(): TestOpa | undefined {
  const directories = (process.env['PATH'] ?? '').split(delimiter).filter((directory) => directory !== '')
  for (const directory of directories) {
    const path = join(directory, 'opa')
    const { stdout } = spawnSync(path, ['version'], { encoding: 'utf8' })
    const version = /^Version: v?(\S+)/m.exec(stdout ?? '')?.[1]
    if (version === undefined) continue
    process.stderr.write(`\nPolicies are evaluated by ${path}, which is OPA ${version}.\n\n`)
    return { path, directory, version, isStandIn: false }
  }
  return undefined
}

function standInWithNotice(): TestOpa {
  process.stderr.write('\nNO OPA IN PATH: policies are evaluated by a STAND-IN for its command line.\n\n')
  return createStandIn()
}

/** Writes the stand-in with a copy of Node to a directory that the users of runs can read. It is kept, as workers of tests are killed. */
export function createStandIn(): TestOpa {
  const source = join(import.meta.dirname, 'opa-stand-in')
  const files = readdirSync(source).map((name) => ({ name, text: readFileSync(join(source, name), 'utf8') }))
  const digest = createHash('sha256')
    .update(JSON.stringify([files, process.execPath, process.version]))
    .digest('hex')
  const directory = join(tmpdir(), `gs-opa-${process.geteuid?.() ?? 0}-${digest.slice(0, 16)}`)
  const path = join(directory, 'opa')
  if (!existsSync(directory)) {
    const draft = mkdtempSync(`${directory}-`)
    chmodSync(draft, 0o755)
    for (const { name, text } of files) writeFileSync(join(draft, name), text)
    writeFileSync(join(draft, 'package.json'), '{ "type": "module" }')
    copyNode(join(draft, 'node'))
    const script = `#!/bin/sh\nexec '${join(directory, 'node')}' '${join(directory, 'main.ts')}' "$@"\n`
    writeFileSync(join(draft, 'opa'), script, { mode: 0o755 })
    try {
      renameSync(draft, directory)
    } catch (error) {
      rmSync(draft, { recursive: true, force: true })
      // Another worker may have been faster.
      if (!existsSync(directory)) throw error
    }
  }
  const version = /^Version: (\S+)/m.exec(execFileSync(path, ['version'], { encoding: 'utf8' }))?.[1] ?? ''
  return { path, directory, version, isStandIn: true }
}

function copyNode(to: string) {
  try {
    linkSync(process.execPath, to)
  } catch {
    copyFileSync(process.execPath, to)
  }
}
