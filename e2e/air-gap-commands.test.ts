import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readAgentSettings } from '@groundstate/agent/settings/agent-settings'
import { beforeAll, expect } from 'vitest'
import { type Cases, describeBlocks, hasSandbox, runShell, variablesSetBy } from './documented-commands.ts'
import { findTool } from './helm.ts'
import { expectSettings, hasNpm, inside, makeHost, NO_NPM, onNewHost } from './new-host.ts'

const ROOT = join(import.meta.dirname, '..')

beforeAll(async () => {
  if (!hasSandbox) return
  await makeHost({ hasPackages: true })
  for (const name of ['opt/engines', 'opt/opa', 'srv/providers']) await mkdir(inside(name), { recursive: true })
}, 180_000)

const AIR_GAP: Cases = {
  async 'Copy Groundstate'({ text }, skip) {
    if (!hasNpm) skip(NO_NPM)
    await onNewHost(text, { hasRegistry: true })
  },

  async 'Copy Groundstate (2)'({ text }, skip) {
    if (!hasNpm) skip(NO_NPM)
    await mkdir(inside('server'))
    await cp(inside('work/groundstate.tar.gz'), inside('server/groundstate.tar.gz'))

    const output = await onNewHost(text, { cwd: inside('server'), until: 'another terminal' })

    expect(output).toContain('ready at http://127.0.0.1:7777\n')
  },

  async 'Engines and OPA'({ text }) {
    await cp(findTool('terraform') ?? '', inside('opt/engines/terraform'))

    const env = await variablesSetBy(text, { cwd: inside('work') })
    const doctor = await doctorWith(env)

    expectSettings(env)
    expect(doctor).toMatch(/✓ engine +Terraform \d/)
  },

  async 'Engines and OPA (2)'({ text }) {
    const env = await variablesSetBy(text, { cwd: inside('work') })

    expectSettings(env)
    expect(
      readAgentSettings([], {
        ...env,
        GROUNDSTATE_URL: 'https://groundstate.example.com',
        GROUNDSTATE_AGENT_TOKEN: 'token',
      }),
    ).toMatchObject({
      notes: [],
      settings: { terraformMirror: 'https://mirror.example.com/terraform-releases' },
    })
  },

  async Providers({ text }) {
    // Providers that are part of the engine need no registry. For them alone terraform makes no directory.
    await mkdir(inside('work/providers'))
    await writeFile(inside('work/main.tf'), 'resource "terraform_data" "one" {}\n')

    const output = await runShell(text, { cwd: inside('work'), isOffline: true })

    expect(output).toContain('Skipping terraform.io/builtin/terraform')
  },

  async 'Providers (2)'({ text }) {
    const env = await variablesSetBy(text, { cwd: inside('work') })

    expectSettings(env)
    expect(await doctorWith(env)).toMatch(/✓ providers +.*\/srv\/providers/)
  },
}

/** The report of doctor on a host without engines on its PATH, whose `/opt` and `/srv` an operator has filled. */
async function doctorWith(env: Record<string, string>) {
  const at = { '/opt': inside('opt'), '/srv': inside('srv') }
  const PATH = `${join(ROOT, 'node_modules/.bin')}:/usr/bin:/bin`
  const own = { PATH, GROUNDSTATE_DATA_DIR: inside('data'), ...env }
  return runShell('groundstate doctor || true', { cwd: inside('work'), env: own, at, isOffline: true })
}

// npm writes and packs hundreds of MB.
describeBlocks('docs/AIR-GAP.md', AIR_GAP, { timeout: 300_000 })
