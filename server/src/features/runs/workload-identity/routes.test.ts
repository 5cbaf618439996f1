import { createPublicKey } from 'node:crypto'
import type { WorkloadIdentityResource } from '@groundstate/contract/workspace-identity'
import jwt from 'jsonwebtoken'
import { beforeAll, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import {
  createOrganization,
  createProject,
  createUser,
  createWorkspace,
  type TestUser,
} from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { createRun, createRunSetting } from '../../../testing/runs.ts'
import { ensureIdentityKey } from '../identity-keys/service.ts'

let app: TestApp
let user: TestUser
let organization: { id: string; name: string }
beforeAll(async () => {
  app = await createTestApp()
  await ensureIdentityKey(app)
  user = await createUser(app)
  organization = await createOrganization(app, user)
})

const ROLE = 'arn:aws:iam::123456789012:role/terraform'
type Value = string | { value: string; sensitive: true }

async function workspaceWith(values: Record<string, Value>, { on = app, by = user, projectId = '' } = {}) {
  const name = by === user ? organization.name : (await createOrganization(on, by)).name
  const input = { organization: name, actor: by.actor, ...(projectId !== '' && { projectId }) }
  const workspace = await createWorkspace(on, input)
  for (const [key, value] of Object.entries(values)) {
    const attributes = { key, category: 'env', ...(typeof value === 'string' ? { value } : value) }
    const url = `/api/v2/workspaces/${workspace.id}/vars`
    await on.request({ method: 'POST', url, token: by.token, body: { data: { type: 'vars', attributes } } })
  }
  return workspace
}

async function read(id: string, { on = app, by = user } = {}) {
  const response = await on.request({ url: `/api/v2/workspaces/${id}/workload-identity`, token: by.token })
  expect(response.status).toBe(200)
  return response.json().data.attributes as WorkloadIdentityResource['attributes']
}

async function preview(id: string, attributes: object, token = user.token) {
  const response = await app.request({
    method: 'POST',
    url: `/api/v2/workspaces/${id}/actions/preview-identity-token`,
    token,
    body: { data: { type: 'identity-token-previews', attributes } },
  })
  return { status: response.status, body: response.json() }
}

function policyOf({ 'trust-policies': policies }: WorkloadIdentityResource['attributes'], provider: string) {
  const policy = policies.find((one) => one.provider === provider)
  const texts = policy?.snippets.map(({ text }) => text) ?? []
  return { texts, json: (index: number) => JSON.parse(texts[index] ?? '') }
}

describe('the identity of a workspace', () => {
  test('has the subject, the claims and the configured credentials of each phase', async () => {
    const workspace = await workspaceWith({
      TFC_AWS_PROVIDER_AUTH: 'true',
      TFC_AWS_PLAN_ROLE_ARN: ROLE,
      TFC_WORKLOAD_IDENTITY_AUDIENCE_OTHER: 'https://other.example.com',
    })

    const identity = await read(workspace.id)

    const prefix = `organization:${organization.name}:project:Default Project:workspace:${workspace.name}:run_phase:`
    expect(identity).toMatchObject({
      issuer: 'http://groundstate.test',
      'issuer-is-external': false,
      'issuer-problem': expect.stringContaining('http://groundstate.test is not an https address'),
      'openid-configuration-url': 'http://groundstate.test/.well-known/openid-configuration',
      'jwks-url': 'http://groundstate.test/.well-known/jwks',
      subjects: { plan: `${prefix}plan`, apply: `${prefix}apply` },
      credentials: [
        { provider: 'aws', tag: null, audience: 'aws.workload.identity', phases: ['plan'] },
        { provider: 'token', tag: 'OTHER', audience: 'https://other.example.com', phases: ['plan', 'apply'] },
      ],
      problems: [{ message: expect.stringContaining('TFC_AWS_APPLY_ROLE_ARN'), phases: ['apply'] }],
    })
    expect(identity.claims).toContainEqual({
      name: 'terraform_run_phase',
      description: 'phase of the run',
      plan: 'plan',
      apply: 'apply',
    })
    expect(identity.claims).toHaveLength(16)
    expect(identity.claims).toContainEqual(
      expect.objectContaining({ name: 'exp', plan: 'iat + 7200', apply: 'iat + 86400' }),
    )
  })

  test('has the names of the variables in policies', async () => {
    const workspace = await workspaceWith({
      TFC_AWS_PROVIDER_AUTH: 'true',
      TFC_AWS_RUN_ROLE_ARN: ROLE,
      TFC_AWS_WORKLOAD_IDENTITY_AUDIENCE: 'my-aws',
      TFC_GCP_PROVIDER_AUTH: 'true',
      TFC_GCP_RUN_SERVICE_ACCOUNT_EMAIL: 'terraform@example.iam.gserviceaccount.com',
      TFC_GCP_WORKLOAD_PROVIDER_NAME:
        'projects/42/locations/global/workloadIdentityPools/our-pool/providers/our-provider',
    })

    const identity = await read(workspace.id)

    const { subjects } = identity
    expect(policyOf(identity, 'aws').json(1).Statement[0]).toMatchObject({
      Principal: { Federated: 'arn:aws:iam::123456789012:oidc-provider/groundstate.test' },
      Condition: {
        StringEquals: {
          'groundstate.test:aud': 'my-aws',
          'groundstate.test:sub': [subjects.plan, subjects.apply],
        },
      },
    })
    expect(policyOf(identity, 'gcp').texts.join('\n')).toContain('--workload-identity-pool=our-pool')
    expect(policyOf(identity, 'gcp').texts.join('\n')).not.toContain('--allowed-audiences')
    expect(policyOf(identity, 'azure').json(0)).toMatchObject({
      issuer: 'http://groundstate.test',
      subject: subjects.plan,
      audiences: ['api://AzureADTokenExchange'],
    })
    expect(policyOf(identity, 'azure').json(1)).toMatchObject({ subject: subjects.apply })
    expect(policyOf(identity, 'vault').json(1)).toMatchObject({
      bound_audiences: ['vault.workload.identity'],
      bound_claims: { sub: [subjects.plan, subjects.apply] },
    })
    expect(policyOf(identity, 'kubernetes').texts[0]).toContain('        - "kubernetes"\n')
    expect(policyOf(identity, 'hcp').texts[0]).toContain(`jwt_claims.sub == "${subjects.plan}"`)
    expect(policyOf(identity, 'token').json(0)).toMatchObject({ iss: 'http://groundstate.test', aud: 'AUDIENCE' })
  })

  test('has no value of a sensitive variable', async () => {
    const provider = 'projects/42/locations/global/workloadIdentityPools/secret-pool/providers/secret-provider'
    const workspace = await workspaceWith({
      TFC_AWS_PROVIDER_AUTH: 'true',
      TFC_AWS_RUN_ROLE_ARN: { value: ROLE, sensitive: true },
      TFC_AWS_WORKLOAD_IDENTITY_AUDIENCE: { value: 'secret-audience', sensitive: true },
      TFC_GCP_PROVIDER_AUTH: 'true',
      TFC_GCP_RUN_SERVICE_ACCOUNT_EMAIL: { value: 'secret@example.com', sensitive: true },
      TFC_GCP_WORKLOAD_PROVIDER_NAME: { value: provider, sensitive: true },
    })

    const identity = await read(workspace.id)
    const refused = await preview(workspace.id, {})

    expect(identity.credentials).toEqual([
      { provider: 'aws', tag: null, audience: null, phases: ['plan', 'apply'] },
      { provider: 'gcp', tag: null, audience: null, phases: ['plan', 'apply'] },
    ])
    expect(JSON.stringify(identity)).not.toContain('secret')
    expect(JSON.stringify(identity)).not.toContain('123456789012')
    expect(refused.status).toBe(422)
    expect(refused.body.errors[0].detail).toContain('a sensitive variable sets it')
  })

  test('has defaults and other variables that contain the value of a sensitive one', async () => {
    const secret = (value: string): Value => ({ value, sensitive: true })
    const workspace = await workspaceWith({
      TFC_AWS_PROVIDER_AUTH: secret('true'),
      TFC_AWS_RUN_ROLE_ARN: ROLE,
      TFC_HCP_PROVIDER_AUTH: 'true',
      TFC_HCP_RUN_PROVIDER_RESOURCE_NAME: 'iam/project/p/service-principal/s/workload-identity-provider/w',
      TFC_HCP_WORKLOAD_IDENTITY_AUDIENCE: 'true/p',
      BLANK: secret(' '),
      SHORT: secret('a'),
      CLOUD: secret('aws'),
    })

    const identity = await read(workspace.id)

    expect(identity.credentials).toMatchObject([
      { provider: 'aws', audience: 'aws.workload.identity' },
      { provider: 'hcp', audience: 'true/p' },
    ])
    expect(policyOf(identity, 'aws').texts[1]).toContain('arn:aws:iam::123456789012:oidc-provider/')
    expect(policyOf(identity, 'hcp').texts[0]).toContain('--service-principal=iam/project/p/service-principal/s ')
  })

  test('hides defaults that a sensitive variable decides', async () => {
    const workspace = await workspaceWith({
      TFC_GCP_PROVIDER_AUTH: 'true',
      TFC_GCP_PRINCIPAL_TYPE: 'workload_pool',
      TFC_DEFAULT_GCP_PROJECT_NUMBER: { value: '424242', sensitive: true },
      TFC_GCP_WORKLOAD_POOL_ID: 'pool',
      TFC_GCP_WORKLOAD_PROVIDER_ID: 'provider',
      TFC_HCP_PROVIDER_AUTH_EAST: 'true',
      TFC_HCP_PLAN_PROVIDER_RESOURCE_NAME_EAST: {
        value: 'iam/project/hidden/service-principal/s/workload-identity-provider/w',
        sensitive: true,
      },
    })

    const identity = await read(workspace.id)

    expect(identity.credentials).toEqual([
      { provider: 'gcp', tag: null, audience: null, phases: ['plan', 'apply'] },
      { provider: 'hcp', tag: 'EAST', audience: null, phases: ['plan'] },
    ])
    expect(JSON.stringify(identity)).not.toMatch(/424242|hidden/)
  })

  test('keeps the characters of names, and escapes those that a policy must not have', async () => {
    const project = await createProject(app, {
      organization: organization.name,
      actor: user.actor,
      name: 'Größe 東京',
    })
    const workspace = await workspaceWith({}, { projectId: project.id })

    const identity = await read(workspace.id)

    const { texts, json } = policyOf(identity, 'aws')
    expect(identity.subjects.plan).toContain(':project:Größe 東京:workspace:')
    expect(texts[1]).toContain(String.raw`Größe \u6771\u4eac`)
    expect(json(1).Statement[0].Condition.StringEquals['groundstate.test:sub'][0]).toBe(identity.subjects.plan)
  })

  test.each([
    ['https://identity.example.com/a', 'null'],
    ['https://groundstate.internal', 'groundstate.internal is a private address'],
    ['https://10.1.2.3:8443', '10.1.2.3 is a private address'],
    ['https://[fd00::1]', 'fd00::1 is a private address'],
    ['https://groundstate', 'groundstate is a private address'],
  ])('says whether clouds can reach the issuer %s', async (issuer, problem) => {
    const external = await createTestApp({ GROUNDSTATE_ISSUER_URL: issuer })
    const by = await createUser(external)
    const workspace = await workspaceWith({}, { on: external, by })

    const identity = await read(workspace.id, { on: external, by })

    expect(identity).toMatchObject({ issuer, 'issuer-is-external': true })
    expect(identity['issuer-problem']).toSatisfy((text) => String(text).startsWith(problem))
  })

  test('is for those who may read the variables', async () => {
    const workspace = await workspaceWith({})
    const stranger = await createUser(app)
    const url = `/api/v2/workspaces/${workspace.id}/workload-identity`

    expect((await app.request({ url, token: stranger.token })).status).toBe(404)
    expect((await preview(workspace.id, { audience: 'x' }, stranger.token)).status).toBe(404)
    expect((await app.request({ url: url.replace(workspace.id, 'ws-none'), token: user.token })).status).toBe(404)
  })
})

test('a sensitive variable that cannot be decrypted is a conflict that names it', async () => {
  const workspace = await workspaceWith({ TFC_WORKLOAD_IDENTITY_AUDIENCE: { value: 'x', sensitive: true } })
  const variables = app.db.updateTable('variables').where('workspace_id', '=', workspace.id)
  const { id } = await variables
    .set({ sealed_value: Buffer.from('damaged') })
    .returning('id')
    .executeTakeFirstOrThrow()

  const url = `/api/v2/workspaces/${workspace.id}/workload-identity`
  const shown = await app.request({ url, token: user.token })
  const previewed = await preview(workspace.id, {})

  const detail = `a sensitive value cannot be decrypted: sealed variables/${id}/value is truncated. Set it again`
  expect([shown.status, previewed.status]).toEqual([409, 409])
  expect(shown.json().errors[0].detail).toBe(detail)
  expect(previewed.body.errors[0].detail).toBe(detail)
})

test('a preview with a key that cannot be decrypted is a conflict with the same advice as of a run', async () => {
  const workspace = await workspaceWith({})
  const row = await app.db.selectFrom('identity_keys').selectAll().executeTakeFirstOrThrow()
  const update = async (key: Buffer) => app.db.updateTable('identity_keys').set({ private_key: key }).execute()
  await update(Buffer.from('damaged'))
  app.clock.advance(5001)

  const { status, body } = await preview(workspace.id, { audience: 'x' })
  await update(row.private_key)

  expect(status).toBe(409)
  expect(body.errors[0].detail).toBe(
    `the key ${row.key_id}, which signs identity tokens, cannot be decrypted: a site administrator must rotate the keys`,
  )
})

describe('a preview', () => {
  test('has the header and the claims of the token of a run, and no signature', async () => {
    const setting = await createRunSetting(app)
    const body = {
      type: 'vars',
      attributes: { key: 'TFC_WORKLOAD_IDENTITY_AUDIENCE', value: 'x.example', category: 'env' },
    }
    const url = `/api/v2/workspaces/${setting.workspaceId}/vars`
    await app.request({ method: 'POST', url, token: setting.user.token, body: { data: body } })
    const agent = await createFakeAgent(app)
    await createRun(app, setting)
    const job = await agent.take()
    await job.finish()

    const shown = await preview(setting.workspaceId, { audience: 'x.example', phase: 'plan' }, setting.user.token)
    const byDefault = await preview(setting.workspaceId, {}, setting.user.token)

    const { header, claims } = shown.body.data.attributes
    const { keys } = (await app.request({ url: '/.well-known/jwks' })).json()
    const key = createPublicKey({ key: keys[0], format: 'jwk' })
    const token = jwt.verify(job.identityTokens[0]?.token ?? '', key, { complete: true })
    const differs = {
      jti: expect.any(String),
      iat: expect.any(Number),
      nbf: expect.any(Number),
      exp: expect.any(Number),
    }
    expect(header).toEqual(token.header)
    expect({ ...claims, ...differs }).toEqual({
      ...(token.payload as object),
      ...differs,
      terraform_run_id: 'run-0000000000000000',
    })
    expect(byDefault.body.data.attributes.claims.aud).toBe('x.example')
    expect(JSON.stringify(shown.body)).not.toContain('eyJ')
  })

  test.each([
    [{ phase: 'destroy' }, '/data/attributes/phase', 'plan'],
    [{ audience: '' }, '/data/attributes/audience', 'it must name the service that verifies the token'],
    [{ audience: ' ' }, '/data/attributes/audience', 'it must name the service that verifies the token'],
    [{ audience: 'x'.repeat(1001) }, '/data/attributes/audience', 'must have at most 1000 characters'],
    [{ audience: 'a\tb' }, '/data/attributes/audience', 'must have no control characters'],
    [{ audience: 'a\u0085b' }, '/data/attributes/audience', 'must have no control characters'],
    [{ audience: 7 }, '/data/attributes/audience', 'string'],
    [{}, '/data/attributes/audience', 'the variables of the workspace configure no credentials'],
  ])('of %j is refused with the reason', async (attributes, pointer, detail) => {
    const workspace = await workspaceWith({})

    const { status, body } = await preview(workspace.id, attributes)

    expect(status).toBe(422)
    expect(body.errors[0]).toMatchObject({ source: { pointer }, detail: expect.stringContaining(detail) })
  })

  test('accepts the attributes alone', async () => {
    const workspace = await workspaceWith({})
    const response = await app.request({
      method: 'POST',
      url: `/api/v2/workspaces/${workspace.id}/actions/preview-identity-token`,
      token: user.token,
      body: { audience: 'x', phase: 'apply' },
    })

    expect(response.json().data.attributes.claims).toMatchObject({ aud: 'x', terraform_run_phase: 'apply' })
  })
})
