import { closeSync, openSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { extract } from 'tar'
import { expect, inject, test, vi } from 'vitest'
import { type Config, readConfig } from '../config.ts'
import { createLog } from '../log.ts'
import { SETTINGS } from '../settings.ts'
import { type TestApp, createTestApp } from '../testing/app.ts'
import { atEnd } from '../testing/cleanup.ts'
import { databaseUrl } from '../testing/database.ts'
import { createUser } from '../testing/factories.ts'
import { createFakeAgent } from '../testing/fake-agent.ts'
import { startReceiver } from '../testing/receiver.ts'
import { createRun, createRunSetting } from '../testing/runs.ts'
import { rawState, stateVersionBody } from '../testing/state-versions.ts'
import { doctorCommand } from './doctor.ts'

const SECRET = 'ca'.repeat(32)
const PREVIOUS = 'cb'.repeat(32)

/** A value that no output may have; a secret of each kind is one. */
const canary = (name: string) => `canary-of-${name}`
const CANARY = /canary-of-[\w-]+/g

/** Creates a secret of each kind through the API. Returns those that the server has chosen: tokens, the session, the password. */
async function createSecrets(app: TestApp): Promise<string[]> {
  const setting = await createRunSetting(app)
  const { user, workspaceId, organization } = setting
  const create = async (path: string, type: string, attributes: object, token: string | undefined = user.token) => {
    const body = { data: { type, attributes } }
    const response = await app.request({ method: 'POST', url: `/api/v2/${path}`, token, body })
    expect([path, response.status, response.status < 300 || response.text]).toEqual([path, 201, true])
    return response
  }
  const created = async (...parameters: Parameters<typeof create>) => (await create(...parameters)).json().data

  const variable = { key: 'password', value: canary('sensitive-variable'), category: 'terraform', sensitive: true }
  await create(`workspaces/${workspaceId}/vars`, 'vars', variable)
  await create(`workspaces/${workspaceId}/vars`, 'vars', {
    key: 'settings',
    value: `{ password = "${canary('hcl-variable')}" }`,
    category: 'terraform',
    hcl: true,
  })
  await create(`workspaces/${workspaceId}/notification-configurations`, 'notification-configurations', {
    name: 'chat',
    'destination-type': 'generic',
    url: `https://chat.example/${canary('webhook')}`,
    token: canary('notification'),
    enabled: false,
  })
  const organizationPath = `organizations/${organization}`
  await create(`${organizationPath}/ssh-keys`, 'ssh-keys', { name: 'modules', value: canary('ssh-key') })
  await create(`${organizationPath}/oauth-clients`, 'oauth-clients', {
    'service-provider': 'github',
    'http-url': 'https://github.com',
    'api-url': 'https://api.github.com',
    key: 'id',
    secret: canary('oauth-secret'),
  })
  await create(`${organizationPath}/oauth-clients`, 'oauth-clients', {
    'service-provider': 'github',
    'oauth-token-string': canary('oauth-token'),
  })
  await create(`${organizationPath}/tasks`, 'tasks', {
    name: 'scan',
    url: `${(await startReceiver()).url}?key=${canary('task-url')}`,
    'hmac-key': canary('hmac'),
    category: 'task',
  })
  const token = await created(`${organizationPath}/authentication-token`, 'authentication-tokens', {})
  const team = await created(`${organizationPath}/teams`, 'teams', { name: 'writers' })
  const ofTeam = await created(`teams/${team.id}/authentication-tokens`, 'authentication-tokens', { description: 'ci' })
  const pool = await created(`${organizationPath}/agent-pools`, 'agent-pools', { name: 'rack' })
  const ofPool = await created(`agent-pools/${pool.id}/authentication-tokens`, 'authentication-tokens', {
    description: 'rack',
  })
  const person = await createUser(app, { password: canary('password') })
  const credentials = { username: person.username, password: canary('password') }
  const session = await create('sessions', 'sessions', credentials, '')

  const outputs = { password: { value: canary('state'), type: 'string' } }
  await app.request({ method: 'POST', url: `/api/v2/workspaces/${workspaceId}/actions/lock`, token: user.token })
  const state = stateVersionBody(rawState({ serial: 1, outputs }))
  const upload = { method: 'POST', url: `/api/v2/workspaces/${workspaceId}/state-versions`, token: user.token } as const
  expect((await app.request({ ...upload, body: state })).status).toBe(201)
  await app.request({ method: 'POST', url: `/api/v2/workspaces/${workspaceId}/actions/unlock`, token: user.token })

  const agent = await createFakeAgent(app)
  await createRun(app, setting)
  const job = await agent.take()
  expect((await job.log(`password: ${canary('log')}\n`)).status).toBe(200)
  await job.finish({ status: 'errored', exitCode: 1, message: canary('error-message') })

  const cookie = /=([^;]+)/.exec([session.headers['set-cookie']].flat().join())?.[1] ?? ''
  const tokens = [token, ofTeam, ofPool].map(({ attributes }) => attributes.token as string)
  const chosen = [user.token, ...tokens, cookie, agent.token, job.token, job.engineToken]
  expect(chosen.every((text) => typeof text === 'string' && text.length > 20)).toBe(true)
  return chosen
}

/** Gives each secret setting that is not set a value, also future ones. */
function withSecrets(config: Config): Config {
  const missing = Object.entries(SETTINGS).filter(
    ([name, setting]) => 'secret' in setting && setting.secret && config[name as keyof Config] === undefined,
  )
  return { ...config, ...Object.fromEntries(missing.map(([name]) => [name, canary(name)])) }
}

/** The output of a command on standard output. */
async function printed(work: () => Promise<number>) {
  let text = ''
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    text += String(chunk)
    return true
  })
  const code = await work().finally(() => spy.mockRestore())
  return { code, text }
}

/** Fails if a text has a canary, or one of `secrets`, as it is or encoded. */
function expectNoSecrets(texts: Record<string, string>, secrets: readonly string[]) {
  for (const [name, text] of Object.entries(texts)) {
    const encoded = secrets.flatMap((secret) => [secret, encodeURIComponent(secret), btoa(secret).replace(/=+$/, '')])
    expect([name, text.match(CANARY), encoded.filter((secret) => text.includes(secret))]).toEqual([name, null, []])
  }
}

async function unpack(file: string) {
  const directory = await mkdtemp(join(inject('directory'), 'unpacked-'))
  await extract({ file, cwd: directory })
  const names = await readdir(join(directory, 'groundstate'))
  const texts = await Promise.all(
    names.map(async (name) => [name, await readFile(join(directory, 'groundstate', name), 'utf8')] as const),
  )
  return Object.fromEntries(texts) as Record<string, string>
}

test('neither a support bundle, the output of doctor nor the log has any secret', async () => {
  const directory = await mkdtemp(join(inject('directory'), 'bundle-'))
  const log = openSync(join(directory, 'server.log'), 'w')
  atEnd(() => closeSync(log))
  const app = await createTestApp(
    { GROUNDSTATE_SECRET: SECRET, GROUNDSTATE_METRICS_TOKEN: canary('metrics-token') },
    { log: createLog(log, { level: 'debug', readable: false }) },
  )
  const chosen = await createSecrets(app)
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(app.db)
  const dataDir = join(directory, 'data')
  await mkdir(dataDir)
  const message = canary('statement')
  await writeFile(
    join(dataDir, 'postgres.log'),
    `LOG:  ready\nERROR:  key "${message}"\nSTATEMENT:  ${message}\n\t${message}\n`,
  )
  // The test's database accepts any password.
  const database = new URL(databaseUrl(inject('postgres').adminUrl, rows[0]?.name ?? ''))
  database.password = canary('database-password')
  vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', `authorization=${canary('otel-header')}`)
  atEnd(() => void vi.unstubAllEnvs())
  const config = withSecrets(
    readConfig({
      GROUNDSTATE_DATA_DIR: dataDir,
      GROUNDSTATE_DATABASE_URL: String(database),
      GROUNDSTATE_DATABASE_DIRECT_URL: String(
        Object.assign(new URL(database), { password: canary('direct-password') }),
      ),
      GROUNDSTATE_SECRET: SECRET,
      GROUNDSTATE_PREVIOUS_SECRETS: PREVIOUS,
      GROUNDSTATE_METRICS_TOKEN: canary('metrics-token'),
      GROUNDSTATE_SMTP_URL: `smtp://mailer:${canary('mail-password')}@mail.example`,
      GROUNDSTATE_MAIL_FROM: 'groundstate@example.com',
      HTTPS_PROXY: `http://proxy:${canary('proxy-password')}@proxy.example:3128`,
      GROUNDSTATE_PORT: new URL(await app.listen()).port,
      GROUNDSTATE_AGENTS: '0',
    }),
  )
  const file = join(directory, 'support.tar.gz')

  const { code, text } = await printed(async () => doctorCommand(config, { bundle: file }))

  const files = await unpack(file)
  expect(code).toBe(0)
  expect(Object.keys(files).toSorted()).toEqual([
    'database.json',
    'disk.json',
    'doctor.txt',
    'metrics.txt',
    'postgres.log',
    'settings.json',
    'version.json',
  ])
  expect(JSON.parse(files['settings.json'] ?? '')).toMatchObject({
    GROUNDSTATE_ADMIN_TOKEN: '(set)',
    GROUNDSTATE_S3_SECRET_ACCESS_KEY: '(set)',
    GROUNDSTATE_AGENTS: 0,
    GROUNDSTATE_S3_BUCKET: null,
  })
  expect(JSON.parse(files['database.json'] ?? '').tables.map(({ name }: { name: string }) => name)).toContain(
    'public.runs',
  )
  expect(files['metrics.txt']).toContain('groundstate_queue_jobs')
  expect(files['postgres.log']).toContain('LOG:  ready')
  const lines = await readFile(join(directory, 'server.log'), 'utf8')
  expect(lines).toContain('"path":"/api/v2/sessions"')
  expectNoSecrets({ ...files, 'server.log': lines, 'standard output': text }, [...chosen, SECRET, PREVIOUS])

  await expect(printed(async () => doctorCommand(config, { bundle: file }))).rejects.toThrow(`can't create ${file}`)
})

test('the problems of an unusable configuration show no secret either', async () => {
  const directory = await mkdtemp(join(inject('directory'), 'bundle-'))
  const key = join(directory, 'key.pem')
  await writeFile(key, `-----BEGIN PRIVATE KEY-----\n${canary('tls-key')}\n-----END PRIVATE KEY-----\n`)
  const config = withSecrets(
    readConfig({
      GROUNDSTATE_DATA_DIR: join(directory, 'data'),
      GROUNDSTATE_DATABASE_URL: `postgresql://groundstate:${canary('database%20password')}@127.0.0.1:1/groundstate`,
      GROUNDSTATE_DATABASE_DIRECT_URL: `postgresql://groundstate:${canary('direct%20password')}@127.0.0.1:1/groundstate`,
      GROUNDSTATE_SECRET: SECRET,
      GROUNDSTATE_PREVIOUS_SECRETS: PREVIOUS,
      GROUNDSTATE_S3_BUCKET: 'states',
      GROUNDSTATE_S3_ENDPOINT: 'http://127.0.0.1:1',
      GROUNDSTATE_S3_ACCESS_KEY_ID: 'id',
      GROUNDSTATE_S3_SECRET_ACCESS_KEY: canary('s3-key'),
      GROUNDSTATE_TLS: 'files',
      GROUNDSTATE_TLS_CERT: key,
      GROUNDSTATE_TLS_KEY: key,
      GROUNDSTATE_PORT: '1',
    }),
  )
  const file = join(directory, 'support.tar.gz')

  const { text } = await printed(async () => doctorCommand(config, { bundle: file }))

  expect(text).toMatch(/✗ database/)
  expect(text).toMatch(/✗ TLS/)
  expectNoSecrets({ ...(await unpack(file)), 'standard output': text }, [
    SECRET,
    PREVIOUS,
    'database password',
    'direct password',
  ])
})
