import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { WorkloadIdentityResource } from '@groundstate/contract/workspace-identity'
import { expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createOrganization, createProject, createUser, createWorkspace } from '../../../testing/factories.ts'
import { ensureIdentityKey } from '../identity-keys/service.ts'

const GCP_PROVIDER = 'projects/42/locations/global/workloadIdentityPools/our-pool/providers/our-provider'
const AWS = { TFC_AWS_PROVIDER_AUTH: 'true', TFC_AWS_RUN_ROLE_ARN: 'arn:aws:iam::123456789012:role/terraform' }

type Given = { settings?: Record<string, string>; project?: string; variables?: Record<string, string> }

async function policiesWith({ settings = {}, project: projectName, variables = {} }: Given) {
  const app = await createTestApp(settings)
  await ensureIdentityKey(app)
  const user = await createUser(app)
  const { id: organizationId, name: organization } = await createOrganization(app, user)
  const input = { organization, actor: user.actor }
  const project = projectName === undefined ? undefined : await createProject(app, { ...input, name: projectName })
  const workspace = await createWorkspace(app, { ...input, ...(project && { projectId: project.id }) })
  for (const [key, value] of Object.entries(variables)) await setVariable(app, { workspace, user, key, value })
  const url = `/api/v2/workspaces/${workspace.id}/workload-identity`
  const response = await app.request({ url, token: user.token })
  expect(response.status).toBe(200)
  const identity = response.json().data.attributes as WorkloadIdentityResource['attributes']
  return { ...identity, organizationId, workspace, policyOf: policyOf(identity) }
}

type Target = { workspace: { id: string }; user: { token: string }; key: string; value: string }

async function setVariable(app: TestApp, { workspace, user, key, value }: Target) {
  const body = { data: { type: 'vars', attributes: { key, value, category: 'env' } } }
  const url = `/api/v2/workspaces/${workspace.id}/vars`
  const { status } = await app.request({ method: 'POST', url, token: user.token, body })
  expect(status).toBe(201)
}

const policyOf = (identity: WorkloadIdentityResource['attributes']) => (provider: string) => {
  const policy = identity['trust-policies'].find((one) => one.provider === provider)
  if (!policy) throw new Error(`no policy for ${provider}`)
  return policy
}

/** Runs the commands of a policy in a shell, with programs that print their arguments, one a line. */
async function argumentsIn({ snippets }: ReturnType<ReturnType<typeof policyOf>>) {
  const programs = ['aws', 'gcloud', 'az', 'vault', 'hcp', 'curl']
  const print = programs.map((name) => `${name}() { printf '%s\\n' "$@"; }\n`).join('')
  const commands = snippets.filter(({ language }) => language === 'shell').map(({ text }) => text)
  const { stdout, stderr } = await promisify(execFile)('sh', ['-c', `${print}${commands.join('')}`])
  expect(stderr).toBe('')
  return stdout.trimEnd().split('\n')
}

const HOSTILE = `x' "y" $(echo run) \`echo run\`; echo run #`

test('values in commands are words, whatever their characters', async () => {
  const issuer = `https://identity.example.com/$(id)';id;'`
  const {
    subjects,
    organizationId,
    workspace,
    policyOf: of,
  } = await policiesWith({
    settings: { GROUNDSTATE_ISSUER_URL: issuer },
    variables: {
      ...AWS,
      TFC_AWS_WORKLOAD_IDENTITY_AUDIENCE: HOSTILE,
      TFC_GCP_PROVIDER_AUTH: 'true',
      TFC_GCP_RUN_SERVICE_ACCOUNT_EMAIL: 'terraform@example.iam.gserviceaccount.com',
      TFC_GCP_WORKLOAD_PROVIDER_NAME: GCP_PROVIDER,
      TFC_GCP_WORKLOAD_IDENTITY_AUDIENCE: HOSTILE,
      TFC_HCP_PROVIDER_AUTH: 'true',
      TFC_HCP_RUN_PROVIDER_RESOURCE_NAME: 'iam/project/p/service-principal/s/workload-identity-provider/w',
      TFC_HCP_WORKLOAD_IDENTITY_AUDIENCE: HOSTILE,
    },
  })

  expect(await argumentsIn(of('aws'))).toEqual(expect.arrayContaining(['--url', issuer, '--client-id-list', HOSTILE]))
  expect(await argumentsIn(of('gcp'))).toEqual(
    expect.arrayContaining([
      '--workload-identity-pool=our-pool',
      `--issuer-uri=${issuer}`,
      `--allowed-audiences=${HOSTILE}`,
      `--attribute-condition=assertion.terraform_organization_id == "${organizationId}"`,
      `--member=principalSet://iam.googleapis.com/projects/42/locations/global/workloadIdentityPools/our-pool/attribute.terraform_workspace_id/${workspace.id}`,
    ]),
  )
  expect(await argumentsIn(of('vault'))).toEqual(
    expect.arrayContaining([`oidc_discovery_url=${issuer}`, `bound_issuer=${issuer}`]),
  )
  expect(await argumentsIn(of('hcp'))).toEqual([
    'iam',
    'workload-identity-providers',
    'create-oidc',
    'groundstate',
    '--service-principal=iam/project/p/service-principal/s',
    `--issuer=${issuer}`,
    `--allowed-audience=${HOSTILE}`,
    `--conditional-access=jwt_claims.sub == "${subjects.plan}" or jwt_claims.sub == "${subjects.apply}"`,
  ])
  expect(await argumentsIn(of('token'))).toEqual([`${issuer}/.well-known/openid-configuration`])
})

test('plain values in commands have no quotes', async () => {
  const { policyOf: of } = await policiesWith({
    settings: { GROUNDSTATE_ISSUER_URL: 'https://identity.example.com/a' },
    variables: AWS,
  })

  const [create] = of('aws').snippets
  expect(create?.text).toContain(
    '  --url https://identity.example.com/a \\\n  --client-id-list aws.workload.identity\n',
  )
})

test.each([
  ['https://identity.example.com:8443', true],
  ['https://identity.example.com', false],
])('AWS is said to refuse the port of the issuer %s: %s', async (issuer, hasPort) => {
  const { policyOf: of } = await policiesWith({ settings: { GROUNDSTATE_ISSUER_URL: issuer } })

  expect(of('aws').note?.includes('refuses an issuer with a port, as identity.example.com:8443 has')).toBe(hasPort)
})

test.each([
  ['86400000', false],
  ['90000000', true],
])('an apply limit of %s ms is said to be too long for Google Cloud and Azure: %s', async (limit, isTooLong) => {
  const { policyOf: of } = await policiesWith({ settings: { GROUNDSTATE_APPLY_TIMEOUT: limit } })

  const notes = [of('gcp'), of('azure')].map(({ note }) => note?.includes('GROUNDSTATE_APPLY_TIMEOUT') ?? false)
  expect(notes).toEqual([isTooLong, isTooLong])
})

test('for GKE the credentials of Google Cloud are advised', async () => {
  const { policyOf: of } = await policiesWith({})

  expect(of('kubernetes').note).toContain('For GKE use the credentials of Google Cloud')
})
