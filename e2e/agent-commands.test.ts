import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AGENT_SETTINGS, readAgentSettings } from '@groundstate/agent/settings/agent-settings'
import { beforeAll, expect } from 'vitest'
import { type Cases, describeBlocks, filled, hasSandbox, runShell } from './documented-commands.ts'
import {
  callsOf,
  hasNpm,
  inside,
  makeHost,
  NO_NPM,
  SYSTEM_PATH,
  unknownOptions,
  valuesOf,
  withStandIns,
} from './new-host.ts'
import { ADMIN_TOKEN, type BootedServer, bootServer } from './server.ts'

const ROOT = join(import.meta.dirname, '..')

/** The server whose agents are started. */
let server: BootedServer

beforeAll(async () => {
  if (!hasSandbox) return
  await makeHost({ hasPackages: false })
  server = await bootServer({ GROUNDSTATE_AGENTS: '0' })
})

/** The documented address of the server. */
const SERVER = 'https://groundstate.example.com'
/** The first lines of the page, which define what all of its requests use. */
let prelude = ''
let poolId = ''
let agentToken = ''

/** Sends the requests of a block. */
const request = async (text: string) => runShell(`${prelude}\n${text}`, { cwd: inside('work') })

const RUN_AN_AGENT: Cases = {
  async 'From zero to the first run'(block) {
    const [definitions = '', requests = ''] = filled(block, {
      [SERVER]: server.url,
      'TOKEN=…': `TOKEN=${ADMIN_TOKEN}`,
    }).split('\n\n')
    const [create = '', issue = ''] = requests.split(/\n(?=api )/)
    prelude = definitions

    poolId = JSON.parse(await request(create)).data.id
    agentToken = JSON.parse(await request(issue.replace('apool-…', poolId))).data.attributes.token

    expect(poolId).toMatch(/^apool-/)
    expect(agentToken).not.toBe('')
  },

  async 'From zero to the first run (2)'(block, skip) {
    if (!hasNpm) skip(NO_NPM)
    const text = filled(block, { [SERVER]: server.url, '…': agentToken })
    const prefix = inside('work/agent')
    const npm = { npm_config_prefix: prefix, npm_config_audit: 'false', npm_config_update_notifier: 'false' }

    const output = await runShell(text, {
      // No package comes from elsewhere.
      env: { PATH: `${join(prefix, 'bin')}:${SYSTEM_PATH}`, ...npm, npm_config_registry: 'http://127.0.0.1:9/' },
      cwd: inside('work'),
      at: { '/var/lib': inside('lib') },
      until: 'is ready',
    })

    const { data } = await server.api('GET', `/agent-pools/${poolId}/agents`)
    expect(output).toContain('data-centre')
    expect(data).toHaveLength(1)
  },

  async 'From zero to the first run (3)'(block) {
    await server.api('POST', '/organizations/main/workspaces', {
      data: { type: 'workspaces', attributes: { name: 'hello' } },
    })

    await request(filled(block, { 'apool-…': poolId }))

    const { data } = await server.api('GET', '/organizations/main/workspaces/hello')
    expect(data.attributes['execution-mode']).toBe('agent')
    expect(data.relationships['agent-pool'].data.id).toBe(poolId)
  },

  async 'From zero to the first run (4)'(block) {
    const { data: organization } = await server.api('GET', '/organizations/main')
    const project = organization.relationships['default-project'].data.id

    await request(filled(block, { 'prj-…': project, 'apool-…': poolId }))

    for (const path of [`/projects/${project}`, '/organizations/main']) {
      const { data } = await server.api('GET', path)
      expect(data.attributes['default-execution-mode']).toBe('agent')
      expect(data.relationships['default-agent-pool'].data.id).toBe(poolId)
    }
  },

  async 'A container'({ text }) {
    const dockerfile = await readFile(join(ROOT, 'deploy/image/agent.Dockerfile'), 'utf8')

    const { calls } = await withStandIns(text, { prints: { docker: '' } })

    const [run = []] = callsOf(calls, 'docker')
    expect(await unknownOptions(run)).toEqual([])
    expect(dockerfile).toContain(`-t ${run.at(-1)} `)
    const env = Object.fromEntries(valuesOf(run, '-e').map((pair) => pair.split(/=(.*)/, 2)))
    const { GROUNDSTATE_AGENT_TOKEN_FILE: file, ...others } = env
    expect(valuesOf(run, '-v').map((volume) => volume.split(':')[1])).toEqual([file])
    expect(readAgentSettings([], { ...others, GROUNDSTATE_AGENT_TOKEN: 'token' })).toMatchObject({ notes: [] })
    const drainSeconds = AGENT_SETTINGS.drainSeconds.schema.parse(undefined)
    expect(Number(valuesOf(run, '--stop-timeout')[0])).toBeGreaterThanOrEqual(drainSeconds + 60)
  },

  async 'Monitor and troubleshoot'({ text }) {
    await server.api('PATCH', '/admin/organizations/main', {
      data: { type: 'organizations', attributes: { plan: 'free' } },
    })

    await request(text)

    const { data } = await server.api('GET', '/admin/organizations/main')
    expect(data.attributes.plan).toBe('unlimited')
  },
}

// npm writes and packs hundreds of MB.
describeBlocks('docs/RUN-AN-AGENT.md', RUN_AN_AGENT, { timeout: 300_000 })
