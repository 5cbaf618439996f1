import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { groundstate } from '../testing/command-line.ts'

test('an unknown command is named', async () => {
  const { code, err } = await groundstate('bogus')

  expect(code).toBe(2)
  expect(err).toContain(`unknown command 'bogus'`)
  expect(err).toContain('--help')
})

test('output is complete although its reader pauses for longer than a process without work may take', async () => {
  const preload = `data:text/javascript,process.stdout.write('x'.repeat(1_000_000))`
  const main = join(import.meta.dirname, '../main.ts')
  const command = '"$0" --import "$1" "$2" --version | (sleep 2; wc -c)'

  const { stdout } = await promisify(execFile)('sh', ['-c', command, process.execPath, preload, main])

  expect(Number(stdout)).toBeGreaterThan(1_000_000)
})

test('a setting without a command starts no server', async () => {
  const { code, err } = await groundstate('--port', '0')

  expect(code).toBe(2)
  expect(err).toContain(`unknown option '--port'`)
})

test('the setting that a misspelled flag resembles is named', async () => {
  const { code, err } = await groundstate('serve', '--prot', '0')
  const { out } = await groundstate('token', 'create', '--help')

  expect(code).toBe(2)
  expect(err).toMatch(/unknown option '--prot'\n\(Did you mean .*--port/)
  expect(out.match(/--database-url /g)).toHaveLength(1)
})

test.each([
  ['--url', 'notaurl'],
  ['--url', ''],
  ['--url', 'ftp://a/'],
  ['--host-name', 'bad name'],
  ['--host-name', ''],
  ['--token', ''],
  ['--token', 'a"b c'],
])('cli-config and exec reject %s %j', async (option, value) => {
  for (const command of [['cli-config'], ['exec', '--token', 'x']]) {
    const { code, out, err } = await groundstate(...command, option, value, ...(command[0] === 'exec' ? ['true'] : []))

    expect(code).toBe(2)
    expect(out).toBe('')
    expect(err).toContain(option)
  }
})

test('cli-config follows the port of the server that this environment starts', async () => {
  process.env['GROUNDSTATE_PORT'] = '7999'
  try {
    expect((await groundstate('cli-config')).out).toContain('"http://127.0.0.1:7999/api/v2/"')
    expect((await groundstate('cli-config', '--url', 'https://a.example/')).out).toContain(
      '"https://a.example/api/v2/"',
    )
  } finally {
    delete process.env['GROUNDSTATE_PORT']
  }
})

test.each([
  [
    ['--url', 'https://a.example:8443/'],
    ['a.example:8443', 'groundstate.local'],
  ],
  [['--url', 'http://a.example/'], ['groundstate.local']],
  [
    ['--url', 'https://a.example/', '--host-name', 'b.example'],
    ['b.example', 'groundstate.local'],
  ],
  // Names that terraform rejects in a `host` block, which would make every command fail.
  ...['bücher.example', 'xn--bcher-kva.example', 'ab--cd.example', 'a_b.example', 'a.-b.example', '[::1]:8443'].map(
    (host) => [['--url', `https://${host}/`], ['groundstate.local']],
  ),
])('cli-config with %j calls the server %j', async (args, names) => {
  const { out } = await groundstate('cli-config', '--token', 'secret', ...args)

  expect([...out.matchAll(/^host "(.*)"/gm)].map(([, name]) => name)).toEqual(names)
  expect([...out.matchAll(/^credentials "(.*)"/gm)].map(([, name]) => name)).toEqual(names)
})

test.each(['TF_TOKEN_groundstate_local', 'TF_TOKEN_a_example'])(
  'exec finds the token in %s and gives it to the command under both names',
  async (variable) => {
    const directory = await mkdtemp(join(tmpdir(), 'groundstate-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    vi.stubEnv(variable, 'secret')
    onTestFinished(() => void vi.unstubAllEnvs())

    const copy = `require('fs').copyFileSync(process.env.TF_CLI_CONFIG_FILE, ${JSON.stringify(join(directory, 'rc'))})`
    const { code } = await groundstate('exec', '--url', 'https://a.example', '--', process.execPath, '-e', copy)

    expect(code).toBe(0)
    const text = await readFile(join(directory, 'rc'), 'utf8')
    expect([...text.matchAll(/^credentials "(.*)" \{\n {2}token = "secret"/gm)].map(([, name]) => name)).toEqual([
      'a.example',
      'groundstate.local',
    ])
  },
)

test('exec without a token starts no command', async () => {
  const { code, err } = await groundstate('exec', '--url', 'https://a.example', '--', 'true')

  expect(code).toBe(2)
  expect(err).toContain('no API token')
})

test.each([
  ['0d', 'from 1m to 36500d'],
  ['99999999999d', 'from 1m to 36500d'],
  ['1w', 'm, h or d'],
])('token create rejects an expiry in %s', async (duration, says) => {
  const { code, err } = await groundstate('token', 'create', '--data-dir', '/nonexistent', '--expires', duration)

  expect(code).toBe(1)
  expect(err).toMatch(/^groundstate: --expires [^\n]+\n$/)
  expect(err).toContain(says)
})

test('agent has its own settings and help', async () => {
  const { out } = await groundstate('agent', '--help')
  const wrong = await groundstate('agent', '--concurrency', '0')

  expect(out).toContain('groundstate agent\n')
  expect(out).toContain('--idle-timeout <seconds>')
  expect(wrong.code).toBe(2)
  expect(wrong.err).toContain('groundstate agent: --concurrency "0": it must be a whole number from 1 to 256')
})

describe('the documentation', async () => {
  const docs = join(import.meta.dirname, '../../../docs')
  const pages = (await readdir(docs, { recursive: true })).filter((path) => path.endsWith('.md'))
  const texts = await Promise.all(pages.map(async (page) => [page, await readFile(join(docs, page), 'utf8')] as const))
  const helps = new Map<string, Promise<string>>()
  /** The help of a command, such as `state export`. */
  const helpOf = async (...command: string[]) => {
    const key = command.join(' ')
    if (!helps.has(key))
      helps.set(
        key,
        groundstate(...command, '--help').then(({ out }) => out),
      )
    return (await helps.get(key)) ?? ''
  }
  const subcommands = (help: string) =>
    [...(help.split('\nCommands:\n')[1] ?? '').matchAll(/^ {2}(\w\S*)/gm)].map(([, name = '']) => name)
  const flagsOf = (help: string) => ['--help', ...(help.match(/--?[a-z][a-z0-9-]*/gi) ?? [])]

  /** Words after `groundstate` that are no subcommand or flag. */
  async function unknownIn(words: readonly string[]) {
    const command: string[] = []
    for (const word of words) {
      const known = subcommands(await helpOf(...command))
      if (known.length === 0 || !/^[a-z]/.test(word)) break
      if (!known.includes(word)) return [word]
      command.push(word)
    }
    const end = words.indexOf('--')
    const flags = words.slice(0, end < 0 ? words.length : end).flatMap((word) => /^--?[a-z][a-z0-9-]*/.exec(word) ?? [])
    const known = flagsOf(await helpOf(...command))
    return flags.filter((flag) => !known.includes(flag))
  }

  test('names subcommands and flags that exist', async () => {
    // In a line of a block of commands, or between backticks.
    const pattern = /(?:^ *|[`;|] *)(?:[A-Z_]+=\S+ )*groundstate((?: [^\s`|;#&>)]+)+)/gm
    const mentions = texts.flatMap(([page, text]) =>
      [...text.replaceAll('\\\n', ' ').matchAll(pattern)].map(([mention, rest = '']) => ({ page, mention, rest })),
    )
    const wrong: string[] = []
    for (const { page, mention, rest } of mentions)
      for (const word of await unknownIn(rest.trim().split(' '))) wrong.push(`${page}: ${word} of ${mention}`)

    expect(mentions.length).toBeGreaterThan(60)
    expect(wrong).toEqual([])
  })

  test('names no flag of Operations alone that no command has', async () => {
    const [, operations = ''] = texts.find(([page]) => page === 'OPERATIONS.md') ?? []
    const known = new Set<string>()
    const collect = async (...command: string[]) => {
      const help = await helpOf(...command)
      for (const flag of flagsOf(help)) known.add(flag)
      for (const name of subcommands(help)) if (name !== 'help') await collect(...command, name)
    }
    await collect()

    const alone = [...operations.matchAll(/`(--[a-z-]+)[^`]*`/g)].map(([, flag = '']) => flag)
    expect(alone.length).toBeGreaterThan(10)
    expect(alone.filter((flag) => !known.has(flag))).toEqual([])
  })
})
