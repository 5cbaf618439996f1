import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readAgentSettings } from './agent-settings.ts'

const NEEDED = { GROUNDSTATE_URL: 'https://groundstate.example.com', GROUNDSTATE_AGENT_TOKEN: 'secret' }

function settingsOf(env: NodeJS.ProcessEnv, ...args: string[]) {
  const read = readAgentSettings(args, env)
  if ('problems' in read) throw new Error(read.problems.join('\n'))
  return read
}

function problemsOf(env: NodeJS.ProcessEnv, ...args: string[]) {
  const read = readAgentSettings(args, env)
  return 'problems' in read ? read.problems : []
}

test('server and token are required, everything else has defaults', () => {
  const { settings, notes } = settingsOf(NEEDED)

  expect(settings).toMatchObject({
    url: 'https://groundstate.example.com',
    token: 'secret',
    accept: ['plan', 'apply', 'task', 'repository', 'policy'],
    single: false,
    drainSeconds: 600,
    engineDownloads: true,
    logLevel: 'info',
  })
  expect(notes).toEqual([])
})

test('a flag takes precedence over our variable, and that over one of another agent', () => {
  const theirs = { ...NEEDED, TFC_AGENT_NAME: 'theirs' }
  const ours = { ...theirs, GROUNDSTATE_AGENT_NAME: 'ours' }

  expect(settingsOf(theirs).settings.name).toBe('theirs')
  expect(settingsOf(ours).settings.name).toBe('ours')
  expect(settingsOf({ ...ours, GROUNDSTATE_AGENT_NAME: '' }).settings.name).toBe('theirs')
  expect(settingsOf(ours, '--name', 'flag').settings.name).toBe('flag')
  expect(settingsOf(ours, '--name=flag').settings.name).toBe('flag')
})

test.each([
  ['https://groundstate.example.com/api/v2/', 'https://groundstate.example.com'],
  ['https://tools.example.com/groundstate/api/v2', 'https://tools.example.com/groundstate'],
  ['https://tools.example.com/groundstate/', 'https://tools.example.com/groundstate'],
])("the address %s, as HashiCorp's operator sets it, is that of the server", (address, url) => {
  const { settings } = settingsOf({ TFC_ADDRESS: address, TFC_AGENT_TOKEN: 'secret' })

  expect(settings.url).toBe(url)
})

test('the variables of another agent are sufficient', () => {
  const { settings, notes } = settingsOf({
    TFC_ADDRESS: 'groundstate.example.com',
    TFC_AGENT_TOKEN: 'secret',
    TFC_AGENT_NAME: 'rack',
    TFC_AGENT_SINGLE: 'true',
    TFC_AGENT_ACCEPT: 'plan,apply,stack,assessment',
    TFC_AGENT_DATA_DIR: '/data',
    TFC_AGENT_LOG_LEVEL: 'trace',
    TFC_AGENT_LOG_JSON: '1',
    TFC_AGENT_AUTO_UPDATE: 'disabled',
  })

  expect(settings).toMatchObject({
    url: 'https://groundstate.example.com',
    token: 'secret',
    name: 'rack',
    single: true,
    accept: ['plan', 'apply'],
    workDir: '/data',
    logLevel: 'debug',
    logJson: true,
  })
  expect(notes).toEqual([
    'TFC_AGENT_ACCEPT: stack, assessment not supported here',
    'TFC_AGENT_AUTO_UPDATE has no effect here: install a new version with npm, and restart',
  ])
})

test('an empty kind of work is rejected from another agent as well', () => {
  const problems = problemsOf({ ...NEEDED, TFC_AGENT_ACCEPT: 'plan,,assessment' })

  expect(problems).toEqual([
    'TFC_AGENT_ACCEPT "plan,,assessment": it must be a comma-separated list of plan, apply, task, repository, policy',
  ])
})

test.each([
  ['7778', '127.0.0.1', 7778],
  ['0.0.0.0:7778', '0.0.0.0', 7778],
  ['[::1]:9', '::1', 9],
])('metrics are served at %s', (text, host, port) => {
  expect(settingsOf(NEEDED, '--metrics-address', text).settings.metricsAddress).toEqual({ host, port })
})

test('a switch needs no value', () => {
  expect(settingsOf(NEEDED, '--single', '--log-json').settings).toMatchObject({ single: true, logJson: true })
})

test.for([
  [['--concurrency', 'many'], '--concurrency "many": it must be a whole number'],
  [['--concurrency', '0'], '--concurrency "0": it must be a whole number from 1 to 256'],
  [['--concurrency'], '--concurrency: it needs <number>'],
  [
    ['--accept', 'plan,lunch'],
    '--accept "plan,lunch": it must be a comma-separated list of plan, apply, task, repository, policy',
  ],
  [['--accept', ','], '--accept ",": it must be a comma-separated list of plan, apply, task, repository, policy'],
  [
    ['--accept', 'plan,,apply'],
    '--accept "plan,,apply": it must be a comma-separated list of plan, apply, task, repository, policy',
  ],
  [
    ['--accept', 'plan,'],
    '--accept "plan,": it must be a comma-separated list of plan, apply, task, repository, policy',
  ],
  [['--url', 'ftp://x'], '--url "ftp://x": it must be an address such as https://groundstate.example.com'],
  [['--url', 'https://me:pw@x'], 'it must be an address'],
  [['--metrics-address', 'here'], '--metrics-address "here": it must be a port, or an address such as 0.0.0.0:7778'],
  [['--metrics-address', '127.0.0.1:70000'], 'it must be a port'],
  [['--log-level', 'loud'], '--log-level "loud": it must be debug, info, warn or error'],
  [['--engine-downloads', 'maybe'], '--engine-downloads "maybe": it must be on or off'],
  [['--engine-downloads', 'constructor'], '--engine-downloads "constructor": it must be on or off'],
  [['--nmae', 'x'], '--nmae: there is no such setting; did you mean --name?'],
  [['-x'], '-x: there is no such setting'],
  [['start'], '"start": there is no such argument'],
  [['--token', 'secret'], '--token: pass it as GROUNDSTATE_AGENT_TOKEN or --token-file, which other users cannot see'],
] as const)('%j is rejected', ([args, says]) => {
  expect(problemsOf(NEEDED, ...args)).toContainEqual(expect.stringContaining(says))
})

test('each invalid setting is one line, and none shows the token', () => {
  const problems = problemsOf({
    GROUNDSTATE_AGENT_TOKEN: 'two words',
    GROUNDSTATE_AGENT_CONCURENCY: '3',
    GROUNDSTATE_AGENT_ACCEPT: 'x',
  })

  expect(problems).toEqual([
    'GROUNDSTATE_URL: it must be set, here or by --url: address of the server; https by default',
    'GROUNDSTATE_AGENT_ACCEPT "x": it must be a comma-separated list of plan, apply, task, repository, policy',
    'GROUNDSTATE_AGENT_CONCURENCY: there is no such setting; did you mean GROUNDSTATE_AGENT_CONCURRENCY?',
    'GROUNDSTATE_AGENT_TOKEN: it must contain a token and nothing else',
  ])
})

test('a token is read from a file, and a missing file is named', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'groundstate-agent-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const file = join(directory, 'token')
  await writeFile(file, 'from-file\n')
  const { GROUNDSTATE_URL } = NEEDED

  expect(settingsOf({ GROUNDSTATE_URL, GROUNDSTATE_AGENT_TOKEN_FILE: file }).settings.token).toBe('from-file')
  expect(settingsOf(NEEDED, '--token-file', file).settings.token).toBe('from-file')
  expect(settingsOf({ ...NEEDED, GROUNDSTATE_AGENT_TOKEN_FILE: file }).settings.token).toBe('secret')
  expect(problemsOf(NEEDED, '--token-file', join(directory, 'none'))).toEqual([
    `--token-file ${join(directory, 'none')}: there is no such file or directory`,
  ])
})

test('provider mirrors are https addresses, absolute directories, and direct', () => {
  const mirror = (text: string) => ({ ...NEEDED, GROUNDSTATE_PROVIDER_MIRROR: text })
  const problem = (text: string) => problemsOf(mirror(text)).join('\n')

  expect(settingsOf(mirror('https://mirror.example.com/p, /srv/providers ,direct')).settings.providerMirror).toEqual([
    'https://mirror.example.com/p/',
    '/srv/providers',
    'direct',
  ])
  expect(problem('http://mirror.example.com')).toContain('"http://mirror.example.com" must begin with https://')
  expect(problem('srv/providers,')).toContain('"srv/providers" is neither the https address of a network mirror')
  expect(problem('srv/providers,')).toContain('"" is neither')
  expect(problem('https://bob:hunter2@mirror.example.com/')).toContain('without a user name')
  expect(problem('https://bob:hunter2@mirror.example.com/')).not.toContain('hunter2')
})
