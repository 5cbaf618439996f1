import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../testing/agent-fixture.ts'
import { readInstalled } from './installed.ts'

type Files = { modules?: unknown; lock?: string; mayApply?: boolean }

/** Reads a directory after an init that has left these files. */
async function read({ modules, lock, mayApply = true }: Files, prepare?: (workingDirectory: string) => void) {
  const root = await temporaryDirectory()
  const workingDirectory = join(root, 'configuration')
  mkdirSync(join(workingDirectory, '.terraform/modules'), { recursive: true })
  const list = join(workingDirectory, '.terraform/modules/modules.json')
  if (modules !== undefined) writeFileSync(list, typeof modules === 'string' ? modules : JSON.stringify(modules))
  if (lock !== undefined) writeFileSync(join(workingDirectory, '.terraform.lock.hcl'), lock)
  prepare?.(workingDirectory)
  const context = {
    agent: { apiUrl: 'http://127.0.0.1:7777/api/v2/' },
    job: { mayApply, hostNames: ['Ground.example.com', 'groundstate.local', 'localterraform.com', 'bücher.example'] },
    directory: { root, user: undefined },
    workingDirectory,
  }
  return readInstalled(context as unknown as Parameters<typeof readInstalled>[0])
}

const listed = (...entries: unknown[]) => ({ Modules: [{ Key: '', Source: '', Dir: '.' }, ...entries] })
const module = (Source: unknown, Version: unknown = '1.0.0') => ({ Key: 'a', Source, Version, Dir: 'x' })
const provider = (source: string, version = '1.0.0') => `provider "${source}" {\n  version = "${version}"\n}\n`
const NOTHING = { modules: [], providers: [] }

test('modules and providers of the server are reported by each of its names, and once', async () => {
  const modules = listed(
    module('groundstate.local/acme/network/aws', '1.2.0'),
    module('groundstate.local/acme/network/aws//modules/peering', '1.2.0'),
    module('GROUND.example.com:443/acme/network/aws', '1.3.0'),
    module('127.0.0.1:7777/acme/dns/aws'),
    module('bücher.example/acme/db/aws'),
    module('registry.terraform.io/acme/public/aws'),
    module('acme/public/aws'),
    module('./local', undefined),
    module('git::https://groundstate.local/acme/network/aws', undefined),
  )
  const lock = [
    provider('ground.example.com/acme/dummy'),
    provider('localterraform.com/acme/other', '2.0.0-beta.1'),
    provider('registry.terraform.io/hashicorp/null'),
  ].join('')

  expect(await read({ modules, lock })).toEqual({
    modules: [
      { address: 'acme/network/aws', version: '1.2.0' },
      { address: 'acme/network/aws', version: '1.3.0' },
      { address: 'acme/dns/aws', version: '1.0.0' },
      { address: 'acme/db/aws', version: '1.0.0' },
    ],
    providers: [
      { address: 'acme/dummy', version: '1.0.0' },
      { address: 'acme/other', version: '2.0.0-beta.1' },
    ],
  })
})

test('a directory without either file has none, and a plan that may not be applied reports nothing', async () => {
  expect(await read({})).toEqual(NOTHING)
  expect(await read({ lock: provider('groundstate.local/acme/dummy'), mayApply: false })).toBeUndefined()
})

test('entries of other types and forms are ignored', async () => {
  const modules = listed(
    null,
    1,
    [],
    { Key: {} },
    module(7),
    module('groundstate.local/acme/network/aws', 3),
    module('groundstate.local/acme/network/aws', ''),
    module('groundstate.local/acme/network'),
    module('groundstate.local/acme/../network/aws'),
    module(`groundstate.local/acme/${'x'.repeat(1000)}/aws`),
    module('groundstate.local/acme/network/aws', '1'.repeat(1000)),
    module('groundstate.local/acme/network/aws', '1.0.0\0'),
    module('groundstate.local/acme/network/aws', '1.0.0\uD800'),
    module('/acme/network/aws'),
    module('groundstate.local/acme/kept/aws'),
  )

  const installed = await read({ modules, lock: `${provider('groundstate.local/acme/dummy', '1.0.0\0')}"{{{` })

  expect(installed).toEqual({ modules: [{ address: 'acme/kept/aws', version: '1.0.0' }], providers: [] })
})

test('of very many entries the first are reported', async () => {
  const entries = Array.from({ length: 5000 }, (_, index) => module(`groundstate.local/acme/m${index}/aws`))
  const lock = Array.from({ length: 5000 }, (_, index) => provider(`groundstate.local/acme/p${index}`)).join('')

  const installed = await read({ modules: listed(...entries), lock })

  expect(installed?.modules).toHaveLength(200)
  expect(installed?.providers).toHaveLength(200)
  expect(installed?.modules[199]?.address).toBe('acme/m199/aws')
})

test.each([
  ['is no JSON', '{"Modules":'],
  ['has another form', { Modules: {} }],
  ['has 10,000 entries', listed(...Array.from({ length: 10_000 }, () => module('groundstate.local/acme/n/aws')))],
])('nothing is known if the list of modules %s', async (_, modules) => {
  expect(await read({ modules })).toBeUndefined()
})

test('links out of the directory of the run and directories are not followed', async () => {
  const outside = join(await temporaryDirectory(), 'secret')
  writeFileSync(outside, provider('groundstate.local/acme/dummy'))

  const linked = await read({}, (path) => symlinkSync(outside, join(path, '.terraform.lock.hcl')))
  const directory = await read({}, (path) => mkdirSync(join(path, '.terraform.lock.hcl')))

  expect([linked, directory]).toEqual([undefined, undefined])
})
