import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SignJWT, generateKeyPair } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { bootAgent } from './agent.ts'
import * as standIn from './cloud-stand-ins.ts'
import { agentPool } from './remote-workspaces.ts'
import { latestRun, logOf } from './run-progress.ts'
import { type BootedServer, bootServer } from './server.ts'
import { cloudBlock, hasTerraform, terraformDirectory } from './terraform.ts'

type StandIns = Awaited<ReturnType<typeof standIn.startStandIns>>

const CLIENT = readFile(join(import.meta.dirname, 'cloud-client.mjs'), 'utf8')
const subjectOf = (workspace: string, phase: string) =>
  `organization:main:project:Default Project:workspace:${workspace}:run_phase:${phase}`

let server: BootedServer
let pool: { id: string; token: string }

beforeAll(async () => {
  if (!hasTerraform) return
  server = await bootServer({ GROUNDSTATE_AGENTS: '0' })
  pool = await agentPool(server, 'identified')
})

/** An agent of the pool whose hook runs the client in plans, as the configuration does in applies. */
async function startAgent() {
  const workDir = await mkdtemp(join(tmpdir(), 'groundstate-e2e-agent-'))
  const hooks = await mkdtemp(join(tmpdir(), 'groundstate-hooks-'))
  atEnd(async () => {
    for (const path of [workDir, hooks]) await rm(path, { recursive: true, force: true })
  })
  await chmod(hooks, 0o755)
  await writeFile(join(hooks, 'pre-plan'), '#!/bin/sh\nexec node cloud-client.mjs\n', { mode: 0o755 })
  bootAgent({ url: server.url, token: pool.token, name: 'runner', workDir, settings: { GROUNDSTATE_HOOKS: hooks } })
}

/** Services that trust all phases of a workspace. */
async function startServices(workspace: string, phase = '*') {
  const trust = (audience: string) => ({ issuer: server.url, audience, subject: subjectOf(workspace, phase) })
  return standIn.startStandIns({
    aws: trust('aws.workload.identity'),
    gcp: trust(`//iam.googleapis.com/${standIn.POOL_PROVIDER}`),
    azure: trust('api://AzureADTokenExchange'),
    vault: trust('vault.workload.identity'),
    kubernetes: trust('kubernetes'),
    hcp: trust(standIn.HCP_RESOURCE),
  })
}

function variablesFor({ url }: StandIns) {
  return {
    STAND_INS: url,
    TFC_AWS_PROVIDER_AUTH: 'true',
    TFC_AWS_RUN_ROLE_ARN: standIn.ROLE_ARN,
    TFC_AWS_PROVIDER_AUTH_EU: 'true',
    TFC_AWS_RUN_ROLE_ARN_EU: standIn.ROLE_ARN,
    TFC_GCP_PROVIDER_AUTH: 'true',
    TFC_GCP_RUN_SERVICE_ACCOUNT_EMAIL: standIn.SERVICE_ACCOUNT,
    TFC_GCP_WORKLOAD_PROVIDER_NAME: standIn.POOL_PROVIDER,
    TFC_AZURE_PROVIDER_AUTH: 'true',
    TFC_AZURE_RUN_CLIENT_ID: standIn.CLIENT_ID,
    ARM_TENANT_ID: standIn.TENANT_ID,
    TFC_VAULT_PROVIDER_AUTH: 'true',
    TFC_VAULT_ADDR: `${url}/vault`,
    TFC_VAULT_RUN_ROLE: standIn.VAULT_ROLE,
    TFC_KUBERNETES_PROVIDER_AUTH: 'true',
    TFC_HCP_PROVIDER_AUTH: 'true',
    TFC_HCP_RUN_PROVIDER_RESOURCE_NAME: standIn.HCP_RESOURCE,
  }
}

/** A workspace of the pool with these variables, whose apply runs the client. */
async function workspaceOf(name: string, variables: Record<string, string>) {
  const { data } = await server.api('POST', '/organizations/main/workspaces', {
    data: { type: 'workspaces', attributes: { name, 'execution-mode': 'agent', 'agent-pool-id': pool.id } },
  })
  for (const [key, value] of Object.entries(variables)) {
    const attributes = { key, value, category: 'env', sensitive: key.endsWith('_ADDR') }
    await server.api('POST', `/workspaces/${data.id}/vars`, { data: { type: 'vars', attributes } })
  }
  const main = `${cloudBlock(name)}
variable "tfc_aws_dynamic_credentials" {
  type = object({
    default = object({ shared_config_file = string })
    aliases = map(object({ shared_config_file = string }))
  })
}
resource "terraform_data" "client" {
  provisioner "local-exec" {
    command = "node cloud-client.mjs"
    environment = { ALIAS = var.tfc_aws_dynamic_credentials.aliases["EU"].shared_config_file }
  }
}
`
  const directory = await terraformDirectory(server, { 'main.tf': main, 'cloud-client.mjs': await CLIENT })
  await directory.ok(['init', '-input=false'])
  return { id: String(data.id), directory }
}

async function logsOf(workspaceId: string) {
  const { id } = await latestRun(server, workspaceId)
  return { plan: await logOf(server, id, 'plan'), apply: await logOf(server, id, 'apply').catch(() => '') }
}

describe.skipIf(!hasTerraform)('a run', () => {
  beforeAll(startAgent)

  test('gets credentials for its subject in each phase from services that know nothing but the issuer', async () => {
    const services = await startServices('trusted')
    const { id, directory } = await workspaceOf('trusted', variablesFor(services))

    await directory.ok(['apply', '-auto-approve'])

    const logs = await logsOf(id)
    for (const phase of ['plan', 'apply'] as const) {
      for (const name of ['aws', 'vault', 'kubernetes'])
        expect(logs[phase]).toContain(`${name}: ${subjectOf('trusted', phase)}`)
      for (const name of ['gcp', 'azure', 'hcp']) expect(logs[phase]).toContain(`${name}: accepted`)
      expect(logs[phase]).not.toMatch(/refused|eyJ/)
    }
    expect(logs.apply).toContain(`alias: ${subjectOf('trusted', 'apply')}`)
    const vault = services.issued().filter(({ service }) => service === 'vault')
    expect(vault).toEqual([])
  })

  test('of another phase is refused by policies of one phase', async () => {
    const services = await startServices('phases', 'apply')
    services.trust.vault.subject = subjectOf('phases', '*')
    const { id, directory } = await workspaceOf('phases', variablesFor(services))

    await directory.ok(['apply', '-auto-approve'])

    const { plan, apply } = await logsOf(id)
    for (const name of ['aws', 'gcp', 'azure', 'kubernetes', 'hcp'])
      expect(plan).toMatch(new RegExp(`^${name}: refused: .*no policy trusts the subject .*run_phase:plan`, 'm'))
    expect(apply).not.toContain('refused')
  })

  test('of another workspace, with another audience, or after its time limit is refused', async () => {
    const services = await startServices('other')
    const own = { ...variablesFor(services), TFC_AWS_WORKLOAD_IDENTITY_AUDIENCE: 'sts.example.com' }
    services.trust.vault.subject = subjectOf('mine', '*')
    services.trust.aws = { ...services.trust.aws, subject: subjectOf('mine', '*') }
    services.trust.hcp.now = new Date(Date.now() + 25 * 3_600_000)
    services.trust.azure.now = new Date(Date.now() - 60_000)
    const { id, directory } = await workspaceOf('mine', own)

    await directory.ok(['apply', '-auto-approve'])

    const { apply } = await logsOf(id)
    expect(apply).toMatch(/aws: refused: 403 .*unexpected .*aud.* claim value/)
    expect(apply).toMatch(/hcp: refused: 400 .*exp.* claim timestamp check failed/)
    expect(apply).toMatch(/azure: refused: 400 .*nbf.* claim timestamp check failed/)
    for (const name of ['gcp', 'kubernetes'])
      expect(apply).toMatch(new RegExp(`${name}: refused: 400 .*no policy trusts the subject .*workspace:mine`))
    expect(apply).toContain(`vault: ${subjectOf('mine', 'apply')}`)
  })

  test('that Vault does not trust fails before its plan, and says why', async () => {
    const services = await startServices('elsewhere')
    const { id, directory } = await workspaceOf('untrusted', variablesFor(services))

    const { code } = await directory.run(['plan'])

    const reason = 'the login to Vault failed: it responded with 400: no policy trusts the subject'
    const { plan } = await logsOf(id)
    expect(code).toBe(1)
    expect(plan).toContain(`Error: ${reason} ${subjectOf('untrusted', 'plan')}`)
    expect(plan).not.toMatch(/aws:|Terraform used/)
  })
})

describe.skipIf(!hasTerraform)('a service', () => {
  const header = { alg: 'RS256', typ: 'JWT' }

  test.each([
    ['signed with another key', {}, 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED'],
    ['that names another key', { kid: 'other' }, 'ERR_JWKS_NO_MATCHING_KEY'],
    ['that names no key', { kid: undefined }, 'the token names no key'],
  ])('refuses a token %s', async (_name, own, reason) => {
    const services = await startServices('x')
    const keys: any = await (await fetch(`${server.url}/.well-known/jwks`)).json()
    const { privateKey } = await generateKeyPair('RS256')
    const token = await new SignJWT({ sub: subjectOf('x', 'apply'), jti: 'j' })
      .setProtectedHeader({ ...header, kid: keys.keys[0].kid, ...own })
      .setIssuer(server.url)
      .setAudience('kubernetes')
      .setIssuedAt()
      .setNotBefore('0s')
      .setExpirationTime('5m')
      .sign(privateKey)

    const response = await fetch(`${services.url}/kubernetes`, { headers: { authorization: `Bearer ${token}` } })

    expect(response.status).toBe(400)
    expect(await response.text()).toContain(reason)
  })
})
