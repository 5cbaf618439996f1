import { mkdir, mkdtemp, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { extract } from 'tar'
import { expect, inject, test } from 'vitest'
import { readConfig } from '../config.ts'
import { createTestApp } from '../testing/app.ts'
import { databaseUrl } from '../testing/database.ts'
import { createRunSetting } from '../testing/runs.ts'
import { rawState, stateVersionBody } from '../testing/state-versions.ts'
import { doctorCommand } from './doctor.ts'

const CANARIES = {
  secret: 'ca'.repeat(32),
  adminToken: 'canary-admin-token',
  mailPassword: 'canary-of-mail',
  metricsToken: 'canary-metrics-token',
  proxyPassword: 'canary-of-proxy',
  variable: 'canary-of-a-variable',
  state: 'canary-of-a-state',
  webhook: 'canary-of-a-webhook',
  message: 'canary-of-a-statement',
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

test('a support bundle describes the server, without any secret', async () => {
  const app = await createTestApp({ GROUNDSTATE_SECRET: CANARIES.secret })
  const { user, workspaceId } = await createRunSetting(app)
  const create = async (path: string, type: string, attributes: object) => {
    const body = { data: { type, attributes } }
    const url = `/api/v2/workspaces/${workspaceId}/${path}`
    const response = await app.request({ method: 'POST', url, token: user.token, body })
    expect([path, response.status]).toEqual([path, 201])
  }
  const variable = { key: 'password', value: CANARIES.variable, category: 'terraform', sensitive: true }
  await create('vars', 'vars', variable)
  await create('vars', 'vars', { ...variable, key: 'name', sensitive: false })
  await create('notification-configurations', 'notification-configurations', {
    name: 'chat',
    'destination-type': 'slack',
    url: `https://chat.example/${CANARIES.webhook}`,
    enabled: false,
  })
  await app.request({ method: 'POST', url: `/api/v2/workspaces/${workspaceId}/actions/lock`, token: user.token })
  const outputs = { password: { value: CANARIES.state, type: 'string' } }
  const state = stateVersionBody(rawState({ serial: 1, outputs }))
  await app.request({
    method: 'POST',
    url: `/api/v2/workspaces/${workspaceId}/state-versions`,
    token: user.token,
    body: state,
  })
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(app.db)
  const directory = await mkdtemp(join(inject('directory'), 'bundle-'))
  const dataDir = join(directory, 'data')
  await mkdir(dataDir)
  await writeFile(
    join(dataDir, 'postgres.log'),
    `LOG:  ready\nERROR:  key "${CANARIES.message}"\nSTATEMENT:  ${CANARIES.message}\n\t${CANARIES.message}\n`,
  )
  const config = readConfig({
    GROUNDSTATE_DATA_DIR: dataDir,
    GROUNDSTATE_DATABASE_URL: databaseUrl(inject('postgres').adminUrl, rows[0]?.name ?? ''),
    GROUNDSTATE_SECRET: CANARIES.secret,
    GROUNDSTATE_ADMIN_TOKEN: CANARIES.adminToken,
    GROUNDSTATE_METRICS_TOKEN: CANARIES.metricsToken,
    GROUNDSTATE_SMTP_URL: `smtp://mailer:${CANARIES.mailPassword}@mail.example`,
    GROUNDSTATE_MAIL_FROM: 'groundstate@example.com',
    HTTPS_PROXY: `http://proxy:${CANARIES.proxyPassword}@proxy.example:3128`,
    GROUNDSTATE_PORT: new URL(await app.listen()).port,
    GROUNDSTATE_AGENTS: '0',
  })
  const file = join(directory, 'support.tar.gz')

  const code = await doctorCommand(config, { bundle: file })

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
    GROUNDSTATE_AGENTS: 0,
    GROUNDSTATE_S3_BUCKET: null,
  })
  expect(JSON.parse(files['database.json'] ?? '').tables.map(({ name }: { name: string }) => name)).toContain(
    'public.runs',
  )
  expect(files['metrics.txt']).toContain('groundstate_queue_jobs')
  expect(files['postgres.log']).toContain('LOG:  ready')
  for (const [name, text] of Object.entries(files))
    for (const canary of [...Object.values(CANARIES), user.token])
      expect([name, text.includes(canary)]).toEqual([name, false])

  await expect(doctorCommand(config, { bundle: file })).rejects.toThrow(`can't create ${file}`)
})
