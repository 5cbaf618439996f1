import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, linkSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
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

/** Writes the stand-in with a copy of Node to a directory that the users of runs can read. It is removed at exit. */
export function createStandIn(): TestOpa {
  const directory = mkdtempSync(join(tmpdir(), 'gs-opa-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  chmodSync(directory, 0o755)
  const source = join(import.meta.dirname, 'opa-stand-in')
  for (const name of readdirSync(source)) copyFileSync(join(source, name), join(directory, name))
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }')
  const node = join(directory, 'node')
  try {
    linkSync(process.execPath, node)
  } catch {
    copyFileSync(process.execPath, node)
  }
  const path = join(directory, 'opa')
  writeFileSync(path, `#!/bin/sh\nexec '${node}' '${join(directory, 'main.ts')}' "$@"\n`, { mode: 0o755 })
  const version = /^Version: (\S+)/m.exec(execFileSync(path, ['version'], { encoding: 'utf8' }))?.[1] ?? ''
  return { path, directory, version, isStandIn: true }
}
