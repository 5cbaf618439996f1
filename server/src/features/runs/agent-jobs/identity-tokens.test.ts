import { createPublicKey } from 'node:crypto'
import type { IdentityToken } from '@groundstate/contract/workload-identity'
import jwt from 'jsonwebtoken'
import { sql } from 'kysely'
import { pino } from 'pino'
import { beforeAll, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { uploadCommit } from '../../../testing/commits.ts'
import { createOrganization, createProject, createUser, createWorkspace } from '../../../testing/factories.ts'
import { type FakeAgent, createFakeAgent } from '../../../testing/fake-agent.ts'
import {
  actOnRun,
  createRun,
  createRunSetting,
  uploadConfiguration,
  readRun,
  type RunSetting,
} from '../../../testing/runs.ts'
import { ensureIdentityKey } from '../identity-keys/service.ts'

const logged: string[] = []
const log = pino({ level: 'trace' }, { write: (line) => void logged.push(line) })
const limits = { GROUNDSTATE_PLAN_TIMEOUT: '600000', GROUNDSTATE_APPLY_TIMEOUT: '3600000' }
const app = await createTestApp(limits, { log })
let agent: FakeAgent
beforeAll(async () => {
  await ensureIdentityKey(app)
  agent = await createFakeAgent(app)
})

const ROLE = 'arn:aws:iam::123456789012:role/terraform'
const AWS = { TFC_AWS_PROVIDER_AUTH: 'true', TFC_AWS_RUN_ROLE_ARN: ROLE }

async function setVariables(
  { user, workspaceId }: RunSetting,
  values: Record<string, string>,
  attributes: object = {},
) {
  for (const [key, value] of Object.entries(values)) {
    const response = await app.request({
      method: 'POST',
      url: `/api/v2/workspaces/${workspaceId}/vars`,
      token: user.token,
      body: { data: { type: 'vars', attributes: { key, value, category: 'env', ...attributes } } },
    })
    expect(response.status).toBe(201)
  }
}

/** Verifies the only token with the keys that the server publishes. */
async function claimsOf({ identityTokens }: { identityTokens: IdentityToken[] }) {
  expect(identityTokens).toHaveLength(1)
  const { token = '' } = identityTokens[0] ?? {}
  const { keys } = (await app.request({ url: '/.well-known/jwks' })).json()
  const clockTimestamp = Math.floor(app.clock.now().getTime() / 1000)
  return jwt.verify(token, createPublicKey({ key: keys[0], format: 'jwk' }), { clockTimestamp }) as jwt.JwtPayload
}

test('each phase gets a token with its subject and the end of its time limit', async () => {
  const setting = await createRunSetting(app)
  await setVariables(setting, AWS)
  const run = await createRun(app, setting)
  const now = Math.floor(app.clock.now().getTime() / 1000)

  const planning = await agent.take()
  const plan = await claimsOf(planning)
  await planning.finish()
  await actOnRun(app, setting, { run, action: 'apply' })
  const applying = await agent.take()
  const apply = await claimsOf(applying)
  await applying.finish()

  const workspace = `organization:${setting.organization}:project:Default Project:workspace:${setting.workspaceName}`
  expect(plan).toEqual({
    jti: expect.stringMatching(/^jwt-/),
    iss: 'http://groundstate.test',
    aud: 'aws.workload.identity',
    sub: `${workspace}:run_phase:plan`,
    iat: expect.any(Number),
    nbf: expect.any(Number),
    exp: expect.any(Number),
    terraform_organization_id: expect.stringMatching(/^org-/),
    terraform_organization_name: setting.organization,
    terraform_project_id: expect.stringMatching(/^prj-/),
    terraform_project_name: 'Default Project',
    terraform_workspace_id: setting.workspaceId,
    terraform_workspace_name: setting.workspaceName,
    terraform_full_workspace: workspace,
    terraform_run_id: run,
    terraform_run_phase: 'plan',
  })
  expect(apply).toMatchObject({ sub: `${workspace}:run_phase:apply`, terraform_run_phase: 'apply' })
  expect(apply.jti).not.toBe(plan.jti)
  for (const [claims, seconds] of [
    [plan, 600],
    [apply, 3600],
  ] as const) {
    expect(claims.exp! - claims.iat!).toBe(seconds)
    expect(claims.iat! - claims.nbf!).toBe(30)
    expect(claims.iat).toBeGreaterThanOrEqual(now)
    expect(claims.iat).toBeLessThan(now + 60)
  }
})

test('there is one token for each audience', async () => {
  const setting = await createRunSetting(app)
  await setVariables(setting, {
    ...AWS,
    TFC_AWS_PROVIDER_AUTH_EAST: 'true',
    TFC_AWS_RUN_ROLE_ARN_EAST: ROLE,
    TFC_WORKLOAD_IDENTITY_AUDIENCE: 'https://vault.example.com',
    TFC_WORKLOAD_IDENTITY_AUDIENCE_OTHER: 'other',
  })
  await createRun(app, setting)

  const job = await agent.take()
  await job.finish()

  const audiences = job.identityTokens.map(({ audience }) => audience)
  expect(audiences.toSorted()).toEqual(['aws.workload.identity', 'https://vault.example.com', 'other'])
  for (const { audience, token } of job.identityTokens) expect(jwt.decode(token)).toMatchObject({ aud: audience })
})

test('a run without these variables, or with incomplete ones, gets none', async () => {
  const plain = await createRunSetting(app)
  const incomplete = await createRunSetting(app)
  await setVariables(incomplete, { TFC_AWS_PROVIDER_AUTH: 'true' })
  await createRun(app, plain)
  await createRun(app, incomplete)

  const jobs = [await agent.take(), await agent.take()]
  for (const job of jobs) await job.finish()

  expect(jobs.map(({ identityTokens }) => identityTokens)).toEqual([[], []])
})

test('a job that is claimed again gets new tokens, valid for the whole time limit', async () => {
  const setting = await createRunSetting(app)
  await setVariables(setting, AWS)
  await createRun(app, setting)
  const first = await agent.take()
  const before = await claimsOf(first)
  app.clock.advance(120_000)

  await first.release()
  const second = await agent.take()
  const after = await claimsOf(second)
  await second.finish()

  expect(after.jti).not.toBe(before.jti)
  expect(after.exp! - before.exp!).toBeGreaterThanOrEqual(120)
  expect(after.exp! - after.iat!).toBe(600)
})

test('names appear in claims as they are, and a renamed project changes the subject', async () => {
  const user = await createUser(app)
  const organization = (await createOrganization(app, user, { name: 'Acme_1-x' })).name
  const project = await createProject(app, { organization, actor: user.actor, name: 'Größe  東京 x' })
  const workspace = await createWorkspace(app, {
    organization,
    actor: user.actor,
    projectId: project.id,
    name: 'n_1-x',
  })
  const configurationVersionId = await uploadConfiguration(app, { user, workspaceId: workspace.id })
  const setting = {
    user,
    organization,
    workspaceId: workspace.id,
    workspaceName: workspace.name,
    configurationVersionId,
  }
  await setVariables(setting, AWS)
  await createRun(app, setting)

  const job = await agent.take()
  const before = await claimsOf(job)
  await job.release()
  await app.request({
    method: 'PATCH',
    url: `/api/v2/projects/${project.id}`,
    token: user.token,
    body: { data: { type: 'projects', attributes: { name: 'moved' } } },
  })
  const again = await agent.take()
  const after = await claimsOf(again)
  await again.finish()

  expect(before.sub).toBe('organization:Acme_1-x:project:Größe  東京 x:workspace:n_1-x:run_phase:plan')
  expect(before['terraform_project_name']).toBe('Größe  東京 x')
  expect(after.sub).toBe('organization:Acme_1-x:project:moved:workspace:n_1-x:run_phase:plan')
  expect(after['terraform_project_id']).toBe(before['terraform_project_id'])
})

test('a run of a pull request from a fork gets none, and an event says so', async () => {
  const setting = await createRunSetting(app)
  await setVariables(setting, AWS)
  await setVariables(setting, { TFC_WORKLOAD_IDENTITY_AUDIENCE_OTHER: 'secret-audience' }, { sensitive: true })
  const version = await uploadCommit(app, setting, {
    commit: { pull_request_number: 7, is_fork: true },
    speculative: true,
  })
  const run = await createRun(app, setting, { configurationVersionId: version })

  const job = await agent.take()
  await job.finish()

  expect(job).toMatchObject({ withholdsSecrets: true, identityTokens: [] })
  const events = await app.request({ url: `/api/v2/runs/${run}/run-events`, token: setting.user.token })
  const descriptions = events.json().data.map(({ attributes }: { attributes: object }) => attributes)
  expect(descriptions).toContainEqual(
    expect.objectContaining({
      action: 'secrets_withheld',
      description:
        'planned without 1 sensitive variable (TFC_WORKLOAD_IDENTITY_AUDIENCE_OTHER) and without an identity (aws, TFC_WORKLOAD_IDENTITY_AUDIENCE_OTHER), since the pull request comes from a fork',
    }),
  )
})

/** The tables with a row that contains the text, as text or as bytes. */
async function tablesWith(text: string) {
  const tables = await sql<{ name: string }>`
    select format('%I.%I', table_schema, table_name) as name from information_schema.tables
     where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`.execute(app.db)
  const found: string[] = []
  for (const { name } of tables.rows) {
    const { rows } = await sql`
      select from ${sql.raw(name)} as t
       where strpos(t::text, ${text}) > 0 or strpos(t::text, ${Buffer.from(text).toString('hex')}) > 0 limit 1`.execute(
      app.db,
    )
    if (rows.length > 0) found.push(name)
  }
  return found
}

test('a token is in no log and in no row of the database', async () => {
  const setting = await createRunSetting(app)
  await setVariables(setting, AWS)
  const run = await createRun(app, setting)

  const job = await agent.take()
  const [header = '', claims = '', signature = ''] = (job.identityTokens[0]?.token ?? '').split('.')
  const duringThePhase = await Promise.all([claims, signature].map(tablesWith))
  await job.finish()

  expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toMatchObject({ alg: 'RS256' })
  expect(signature).toHaveLength(342)
  expect(duringThePhase).toEqual([[], []])
  expect(await Promise.all([claims, signature].map(tablesWith))).toEqual([[], []])
  expect(logged.filter((line) => line.includes(claims) || line.includes(signature))).toEqual([])
  // The search does find what is there.
  expect(await tablesWith(run)).toEqual(expect.arrayContaining(['public.runs', 'public.audit_events']))
  expect(await tablesWith(ROLE)).toContain('public.variables')
  expect(logged.join('')).toContain(setting.workspaceId)
})

test('a run whose tokens cannot be signed fails and says what to do', async () => {
  const setting = await createRunSetting(app)
  await setVariables(setting, AWS)
  const run = await createRun(app, setting)
  const row = await app.db.selectFrom('identity_keys').selectAll().executeTakeFirstOrThrow()
  await app.db
    .updateTable('identity_keys')
    .set({ private_key: Buffer.from('damaged') })
    .execute()
  app.clock.advance(5001)

  const job = await agent.claim({ waitMs: 0 })
  await app.db.updateTable('identity_keys').set({ private_key: row.private_key }).execute()

  expect(job).toBeUndefined()
  const { attributes } = await readRun(app, setting, run)
  expect(attributes).toMatchObject({ status: 'errored' })
  expect(JSON.stringify(attributes)).toContain('which signs identity tokens, cannot be decrypted')
})
