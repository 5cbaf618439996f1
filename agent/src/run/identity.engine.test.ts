import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  applied,
  configuration,
  describeWithTerraform,
  hooksDirectory,
  scripted,
  startAgent,
  startServer,
  temporaryDirectory,
} from '../testing/agent-fixture.ts'
import { kill, spawnAgent } from '../testing/agent-process.ts'
import {
  AUDIENCES,
  CLIENT,
  POOL,
  RESOURCE,
  ROLE,
  identityFiles,
  identityOf,
  publicDirectory,
  tokenOf,
} from '../testing/identity.ts'

const AWS = { TFC_AWS_PROVIDER_AUTH: 'true', TFC_AWS_RUN_ROLE_ARN: ROLE }
const ALL = {
  ...AWS,
  TFC_GCP_PROVIDER_AUTH: 'true',
  TFC_GCP_RUN_SERVICE_ACCOUNT_EMAIL: 'runs@project.iam.gserviceaccount.com',
  TFC_GCP_WORKLOAD_PROVIDER_NAME: POOL,
  TFC_AZURE_PROVIDER_AUTH: 'true',
  TFC_AZURE_RUN_CLIENT_ID: CLIENT,
  TFC_KUBERNETES_PROVIDER_AUTH: 'true',
  TFC_HCP_PROVIDER_AUTH: 'true',
  TFC_HCP_RUN_PROVIDER_RESOURCE_NAME: RESOURCE,
  TFC_WORKLOAD_IDENTITY_AUDIENCE: 'other',
  TFC_WORKLOAD_IDENTITY_AUDIENCE_DB: 'database',
}
const hasSandbox = spawnSync('bwrap', ['--ro-bind', '/', '/', '--unshare-pid', 'true']).status === 0

/** Reads files of the run, one per line of output; a run may print no token, so they go to a directory. */
const COPY = `mkdir -p "$OUT/$PHASE" && chmod 777 "$OUT/$PHASE" && env > "$OUT/$PHASE/env" && pwd > "$OUT/$PHASE/pwd"
copy() { test -z "$2" || { stat -c '%a %U' "$2" > "$OUT/$PHASE/$1.stat" && cat "$2" > "$OUT/$PHASE/$1"; }; }
copy aws "$AWS_CONFIG_FILE"; copy aws-token "$(dirname "$AWS_CONFIG_FILE")/tfc-aws-token"
copy gcp "$GOOGLE_APPLICATION_CREDENTIALS"; copy azure "$ARM_OIDC_TOKEN_FILE_PATH"; copy hcp "$HCP_CRED_FILE"`

async function collected(out: string, phase: 'plan' | 'apply') {
  const read = (name: string) => readFile(join(out, phase, name), 'utf8')
  const lines = (await read('env'))
    .split('\n')
    .map((line) => [line.split('=', 1)[0], line.slice(line.indexOf('=') + 1)])
  const environment: Record<string, string> = Object.fromEntries(lines)
  return { environment, read, json: async (name: string): Promise<unknown> => JSON.parse(await read(name)) }
}

describeWithTerraform('a run with dynamic credentials', () => {
  test.each(['plan', 'apply'] as const)(
    'finds what providers read, only during the phase: %s',
    async (phase) => {
      const server = await startServer()
      const out = await publicDirectory()
      const hooks = await hooksDirectory({ 'pre-plan': `PHASE=plan; ${COPY}` })
      const { workDir } = await startAgent(server, { hooks })
      const archive = scripted(`PHASE=apply; ${COPY}`)
      const plan = server.submit({ configuration: archive, ...identityOf({ ...ALL, OUT: out }, 'plan') })
      expect(await plan.finished).toMatchObject({ status: 'finished' })
      const leftOfPlan = await identityFiles(workDir)
      const identity = identityOf({ ...ALL, OUT: out }, 'apply')
      const apply = server.submit({ kind: 'apply', runId: plan.runId, configuration: archive, ...identity })
      expect(await apply.finished).toMatchObject({ status: 'finished' })

      const { environment, read, json } = await collected(out, phase)

      const token = (audience: string) => tokenOf(audience, phase)
      const tokenFile = (name: string) => join(String(environment['AWS_CONFIG_FILE']), '..', name)
      expect((await read('aws')).trim().split('\n')).toEqual([
        '[default]',
        `role_arn = ${ROLE}`,
        `web_identity_token_file = ${tokenFile('tfc-aws-token')}`,
        `role_session_name = ${plan.runId}`,
      ])
      expect(await read('aws-token')).toBe(token(AUDIENCES.aws))
      expect(await json('gcp')).toEqual({
        type: 'external_account',
        audience: AUDIENCES.gcp,
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
        token_url: 'https://sts.googleapis.com/v1/token',
        credential_source: { file: tokenFile('tfc-gcp-token'), format: { type: 'text' } },
        service_account_impersonation_url:
          'https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/runs@project.iam.gserviceaccount.com:generateAccessToken',
      })
      expect(await read('azure')).toBe(token(AUDIENCES.azure))
      expect(await json('hcp')).toEqual({
        scheme: 'workload',
        workload: { provider_resource_name: RESOURCE, file: { path: tokenFile('tfc-hcp-token') } },
      })
      for (const name of ['aws', 'aws-token', 'gcp', 'azure', 'hcp'])
        expect(await read(`${name}.stat`)).toMatch(/^600 /)
      expect(environment).toMatchObject({
        AWS_SDK_LOAD_CONFIG: '1',
        GOOGLE_CREDENTIALS: environment['GOOGLE_APPLICATION_CREDENTIALS'],
        ARM_USE_OIDC: 'true',
        ARM_CLIENT_ID: CLIENT,
        KUBE_TOKEN: token(AUDIENCES.kubernetes),
        TFC_WORKLOAD_IDENTITY_TOKEN: token('other'),
        TFC_WORKLOAD_IDENTITY_TOKEN_DB: token('database'),
      })
      expect([...leftOfPlan, ...(await identityFiles(workDir))]).toEqual([])
      for (const log of [plan.log(), apply.log()]) expect(log).not.toContain('Warning')
    },
    60_000,
  )

  test('has the roles of its phase', async () => {
    const server = await startServer()
    const out = await publicDirectory()
    await startAgent(server, { hooks: await hooksDirectory({ 'pre-plan': `PHASE=plan; ${COPY}` }) })
    const variables = {
      OUT: out,
      TFC_AWS_PROVIDER_AUTH: 'true',
      TFC_AWS_PLAN_ROLE_ARN: `${ROLE}-reads`,
      TFC_AWS_APPLY_ROLE_ARN: `${ROLE}-writes`,
    }
    const archive = scripted(`PHASE=apply; ${COPY}`)
    const plan = server.submit({ configuration: archive, ...identityOf(variables, 'plan') })
    await plan.finished

    const job = { kind: 'apply', runId: plan.runId, configuration: archive } as const
    await server.submit({ ...job, ...identityOf(variables, 'apply') }).finished

    expect(await (await collected(out, 'plan')).read('aws')).toContain(`${ROLE}-reads\n`)
    expect(await (await collected(out, 'apply')).read('aws')).toContain(`${ROLE}-writes\n`)
  }, 60_000)

  test('prints no token: the log has a text in its place', async () => {
    const server = await startServer()
    await startAgent(server)
    const archive = scripted('echo mine: $TFC_WORKLOAD_IDENTITY_TOKEN é $(cat $ARM_OIDC_TOKEN_FILE_PATH)')
    const plan = server.submit({ configuration: archive, ...identityOf(ALL, 'plan') })
    await plan.finished

    const identity = identityOf(ALL, 'apply')
    const apply = server.submit({ kind: 'apply', runId: plan.runId, configuration: archive, ...identity })
    await apply.finished

    expect(apply.log()).toContain('mine: (identity token) é (identity token)')
    expect(apply.log()).not.toContain('jwt.')
  }, 60_000)

  test.each([
    { sandbox: false, isolation: 'auto' },
    { sandbox: false, isolation: 'off' },
    { sandbox: hasSandbox, isolation: 'auto' },
    { sandbox: hasSandbox, isolation: 'off' },
  ] as const)(
    'reads its files: $isolation, sandbox $sandbox',
    async (confinement) => {
      const server = await startServer()
      const { workDir } = await startAgent(server, confinement)
      const paths = ['"$ARM_OIDC_TOKEN_FILE_PATH"', '../variables/identity/tfc-azure-token']
      const archive = scripted(paths.map((path) => `sha256sum < ${path}`).join('\n'))
      const plan = server.submit({ configuration: archive, ...identityOf(ALL, 'plan') })
      await plan.finished

      const identity = identityOf(ALL, 'apply')
      const apply = server.submit({ kind: 'apply', runId: plan.runId, configuration: archive, ...identity })
      await apply.finished

      const digest = createHash('sha256').update(tokenOf(AUDIENCES.azure, 'apply')).digest('hex')
      expect(apply.log().split(digest)).toHaveLength(3)
      expect(await identityFiles(workDir)).toEqual([])
    },
    60_000,
  )

  test('uses a cached init, although its tokens differ', async () => {
    const server = await startServer()
    await startAgent(server)
    const archive = configuration('output "one" { value = 1 }')
    const first = server.submit({ configuration: archive, ...identityOf(ALL, 'plan') })
    await first.finished

    const second = server.submit({ configuration: archive, ...identityOf(ALL, 'apply'), kind: 'plan' })
    await second.finished

    expect(second.log()).toContain('Initialized as in an earlier run')
  }, 60_000)

  test('reports variables that take precedence, and those that it replaces', async () => {
    const server = await startServer()
    await startAgent(server)
    const variables = { ...AWS, AWS_ACCESS_KEY_ID: 'AKIA', AWS_CONFIG_FILE: '/mine', AWS_SDK_LOAD_CONFIG: '1' }

    const plan = server.submit({
      configuration: configuration('output "one" { value = 1 }'),
      ...identityOf(variables, 'plan'),
    })
    await plan.finished

    expect(plan.log()).toContain('Warning: providers may prefer the environment variable AWS_ACCESS_KEY_ID')
    expect(plan.log()).toContain('The environment variable AWS_CONFIG_FILE is replaced by that of the dynamic')
    expect(plan.log()).not.toMatch(/AKIA|mine|SDK_LOAD/)
  })

  test('leaves no file after it was canceled', async () => {
    const server = await startServer()
    const { workDir } = await startAgent(server)
    const archive = scripted('echo waits; exec sleep 300')
    await server.submit({ runId: 'run-a', configuration: archive, ...identityOf(ALL, 'plan') }).finished
    const apply = server.submit({ kind: 'apply', runId: 'run-a', configuration: archive, ...identityOf(ALL, 'apply') })
    await apply.logged(/waits/)
    const during = await identityFiles(workDir)

    apply.command('cancel')

    expect(await apply.finished).toMatchObject({ status: 'canceled' })
    expect(during).not.toEqual([])
    expect(await identityFiles(workDir)).toEqual([])
  }, 60_000)

  test.each(['plan', 'apply'] as const)(
    'leaves no file after its agent was killed: %s',
    async (phase) => {
      const server = await startServer()
      const workDir = await temporaryDirectory()
      const hooks = await hooksDirectory(phase === 'plan' ? { 'pre-plan': 'echo waits; exec sleep 300' } : {})
      const agent = spawnAgent(server, workDir, { GROUNDSTATE_HOOKS: hooks })
      const archive = scripted('echo waits; exec sleep 300')
      const plan = server.submit({ runId: 'run-a', configuration: archive, ...identityOf(ALL, 'plan') })
      if (phase === 'apply') await plan.finished
      const job = { kind: 'apply', runId: 'run-a', configuration: archive, ...identityOf(ALL, 'apply') } as const
      const waiting = phase === 'plan' ? plan : server.submit(job)
      await waiting.logged(/waits/)
      const during = await identityFiles(workDir)
      await kill(agent)

      spawnAgent(server, workDir)
      await (phase === 'plan' ? plan.released : waiting.finished)

      expect(during).not.toEqual([])
      await expect.poll(() => identityFiles(workDir)).toEqual([])
    },
    60_000,
  )
})

describe('dynamic credentials', () => {
  const archive = configuration('output "one" { value = 1 }')

  test('that are incomplete fail the phase before the engine starts', async () => {
    const server = await startServer()
    await startAgent(server, { hooks: await hooksDirectory({ 'pre-plan': 'echo started' }) })
    const variables = { ...ALL, TFC_AWS_RUN_ROLE_ARN: 'secret', TFC_AZURE_RUN_CLIENT_ID: '' }

    const plan = server.submit({ configuration: archive, ...identityOf(variables, 'plan') })

    const message =
      'the dynamic credentials are incomplete: TFC_AWS_RUN_ROLE_ARN is not the ARN of a role, such as ' +
      'arn:aws:iam::123456789012:role/terraform; TFC_AZURE_PROVIDER_AUTH is true, but TFC_AZURE_PLAN_CLIENT_ID or ' +
      'TFC_AZURE_RUN_CLIENT_ID is missing'
    expect(await plan.finished).toMatchObject({ status: 'errored', message })
    expect(plan.log()).toContain(`Error: ${message}`)
    expect(plan.log()).not.toMatch(/started|secret/)
  })

  test('without a token of the server fail the phase', async () => {
    const server = await startServer()
    const { workDir } = await startAgent(server)

    const plan = server.submit({ configuration: archive, ...identityOf(ALL, 'plan', [AUDIENCES.aws]) })

    expect(await plan.finished).toMatchObject({
      status: 'errored',
      message:
        'the server sent no identity token for TFC_GCP_PROVIDER_AUTH: update the server, and start the run again',
    })
    expect(await identityFiles(workDir)).toEqual([])
  })

  describeWithTerraform('of a fork', () => {
    test('are left out, and the plan continues', async () => {
      const server = await startServer()
      await startAgent(server)

      const plan = server.submit({ configuration: archive, ...identityOf(ALL, 'plan', []), withholdsSecrets: true })

      expect(await plan.finished).toMatchObject({ status: 'finished' })
      expect(plan.log()).toContain('Dynamic credentials are left out: the configuration comes from a fork.')
    })
  })

  test('are no concern of a run whose variables configure none', async () => {
    const server = await startServer()
    await startAgent(server)

    const { apply } = await applied(server, archive, { variables: [] })

    expect(apply.log()).not.toMatch(/identity|credentials/)
  })
})
