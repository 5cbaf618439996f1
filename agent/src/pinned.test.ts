import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { hasModules, isPinned, type InitFiles } from './pinned.ts'
import { temporaryFolder } from './testing/agent-fixture.ts'

const COMMIT = '0123456789abcdef0123456789abcdef01234567'
const NOTHING: InitFiles = { lock: undefined, modules: undefined, hasModules: false }

/** Whether an init is pinned, in a folder with these files. */
async function pinned(
  change: { before?: Partial<InitFiles>; after: Partial<InitFiles> },
  files: Record<string, string> = {},
  workingDirectory = '',
) {
  const root = await temporaryFolder()
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  const place = { workingFolder: join(root, workingDirectory), workingDirectory }
  const brought = hasModules(change.before?.modules, place.workingFolder, { root })
  const inits = {
    before: { ...NOTHING, hasModules: brought, ...change.before },
    after: { ...NOTHING, ...change.after },
  }
  return isPinned(inits, place, { root, user: undefined })
}

function lockOf(providers: Record<string, { version?: string; hashes?: string[] }>) {
  const blocks = Object.entries(providers).map(
    ([address, { version = '1.0.0', hashes = ['h1:a='] }]) =>
      `provider "${address}" {\n  version     = "${version}"\n  constraints = "~> 1.0"\n  hashes = [\n${hashes.map((hash) => `    "${hash}",\n`).join('')}  ]\n}\n`,
  )
  return `# This file is maintained automatically by "terraform init".\n\n${blocks.join('\n')}`
}

function modulesOf(...modules: { Key: string; Source: string; Version?: string; Dir: string }[]) {
  return JSON.stringify({ Modules: [{ Key: '', Source: '', Dir: '.' }, ...modules] })
}

const A = { 'example.com/acme/a': {} }

describe('providers', () => {
  test.each<[string, string | undefined, string | undefined, boolean]>([
    ['built-in ones alone', undefined, undefined, true],
    ['those of a lock file', lockOf(A), lockOf(A), true],
    ['those without a lock file', undefined, lockOf(A), false],
    ['one more than those of a lock file', lockOf(A), lockOf({ ...A, 'example.com/acme/b': {} }), false],
    ['one less than those of a lock file', lockOf({ ...A, 'example.com/acme/b': {} }), lockOf(A), false],
    [
      'another version than that of a lock file',
      lockOf({ 'example.com/acme/a': { version: '1.0.1' } }),
      lockOf(A),
      false,
    ],
    [
      'those of a lock file, with a checksum more for this platform',
      lockOf({ 'example.com/acme/a': { hashes: ['zh:a'] } }),
      lockOf({ 'example.com/acme/a': { hashes: ['h1:b=', 'zh:a'] } }),
      true,
    ],
    ['those of a lock file without checksums', lockOf({ 'example.com/acme/a': { hashes: [] } }), lockOf(A), false],
    ['those of a lock file that nobody understands', 'provider {}', 'provider {}', false],
    ['those of a lock file that is gone', lockOf(A), undefined, false],
  ])('%s: %#', async (_, before, after, expected) => {
    expect(await pinned({ before: { lock: before }, after: { lock: after } })).toBe(expected)
  })
})

describe('modules', () => {
  const registry = {
    Key: 'm',
    Source: 'registry.terraform.io/acme/m/aws',
    Version: '1.2.3',
    Dir: '.terraform/modules/m',
  }

  test.each([
    ['of the archive', './modules/m', 'modules/m', true],
    ['of a folder of the machine', 'file:///opt/m', '.terraform/modules/m', false],
    ['outside of the archive', '../m', '../m', false],
    ['of a commit', `git::https://example.com/m.git//sub?ref=${COMMIT}`, '.terraform/modules/m/sub', true],
    ['of a short commit', 'git::https://example.com/m.git?ref=0123456', '.terraform/modules/m', false],
    ['of a branch', 'git::https://example.com/m.git?ref=main', '.terraform/modules/m', false],
    ['of a download', `https://example.com/m.zip?ref=${COMMIT}`, '.terraform/modules/m', false],
  ])('%s', async (_, Source, Dir, expected) => {
    expect(await pinned({ after: { modules: modulesOf({ Key: 'm', Source, Dir }) } })).toBe(expected)
  })

  test('of the archive may lie above the working directory', async () => {
    const modules = modulesOf({ Key: 'm', Source: '../../modules/m', Dir: '../../modules/m' })

    expect(await pinned({ after: { modules } }, { 'live/net/main.tf': '' }, 'live/net')).toBe(true)
    expect(await pinned({ after: { modules } }, { 'live/main.tf': '' }, 'live')).toBe(false)
  })

  test.each([
    ['version = "1.2.3"', true],
    ['version = "= 1.2.3"', true],
    ['version = "~> 1.2"', false],
    ['version = ">= 1.2.3"', false],
    ['# version = "1.2.3"\n  version = "~> 1.2"', false],
    ['/* version = "1.2.3" */', false],
    ['// version = "1.2.3"', false],
    ['version = var.version', false],
    ['', false],
  ])('of a registry, asked for by %j', async (version, expected) => {
    const main = `module "other" {\n  source = "acme/other/aws"\n  version = "1.0.0"\n}\nmodule "m" {\n  source = "acme/m/aws"\n  ${version}\n}\nmodule "last" {\n  version = "2.0.0"\n}\n`

    expect(await pinned({ after: { modules: modulesOf(registry) } }, { 'main.tf': main })).toBe(expected)
  })

  test('of a registry are as pinned as the least of their calls', async () => {
    const call = (version: string) => `module "m" {\n  source = "acme/m/aws"\n  version = "${version}"\n}\n`
    const files = { 'main.tf': call('1.2.3'), 'main_override.tf': call('>= 1.0.0') }

    expect(await pinned({ after: { modules: modulesOf(registry) } }, files)).toBe(false)
    expect(await pinned({ after: { modules: modulesOf(registry) } }, { 'main.tf.json': '{"module":{"m":{}}}' })).toBe(
      false,
    )
  })

  test('that a module calls count too', async () => {
    const inner = { ...registry, Key: 'm.inner', Dir: '.terraform/modules/m.inner' }
    const files = (version: string) => ({
      'main.tf': 'module "m" {\n  version = "1.2.3"\n}\n',
      '.terraform/modules/m/main.tf': `module "inner" {\n  version = "${version}"\n}\n`,
    })
    const after = { modules: modulesOf(registry, inner) }

    expect(await pinned({ after }, files('1.2.3'))).toBe(true)
    expect(await pinned({ after }, files('~> 1.0'))).toBe(false)
  })

  test('that the archive has brought and init has left alone are pinned by that', async () => {
    const modules = modulesOf({ ...registry, Source: 'git::https://example.com/m.git?ref=main' })

    const change = { before: { modules }, after: { modules } }
    expect(await pinned(change, { [`${registry.Dir}/main.tf`]: '' })).toBe(true)
    expect(await pinned(change)).toBe(false)
  })

  test('that links out of the run stand for are not there', async () => {
    const [root, outside] = [await temporaryFolder(), await temporaryFolder()]
    const list = modulesOf({ Key: 'a', Source: 'acme/a', Version: '1.0.0', Dir: 'modules/a' })
    await mkdir(join(root, 'modules'))
    await symlink(outside, join(root, 'modules/a'))

    const linked = hasModules(list, root, { root })
    const parent = hasModules(list, root, { root: dirname(root) })

    expect([linked, parent]).toEqual([false, true])
  })

  test('in a list that nobody understands are not pinned', async () => {
    expect(await pinned({ after: { modules: '{' } })).toBe(false)
    expect(await pinned({ after: { modules: '{"modules":[]}' } })).toBe(false)
  })
})
