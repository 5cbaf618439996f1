import { beforeAll, describe, expect, test } from 'vitest'
import { opaSettings, policySet } from './policy-sets.ts'
import { latestRun } from './run-progress.ts'
import { ADMIN_TOKEN, type BootedServer, bootServer } from './server.ts'
import { cloudBlock, hasTerraform, remoteBackend, terraformDirectory } from './terraform.ts'
import { createMember } from './web-page.ts'

const RESOURCE = 'resource "terraform_data" "greeting" { input = "hello" }\n'

/** Refuses inputs that are not in upper case. */
const LOUD = `deny contains message if {
  some change in input.plan.resource_changes
  change.change.after.input == "hello"
  message := sprintf("%s whispers in %s", [change.address, input.run.workspace.name])
}`

describe.skipIf(!hasTerraform).concurrent('policies as terraform shows them', () => {
  let server: BootedServer
  beforeAll(async () => {
    server = await bootServer(opaSettings())
  })

  /** A directory with a configuration, and a set of policies for its workspace. */
  async function governed(
    name: string,
    set: { policies: Parameters<typeof policySet>[1]['policies']; overridable?: boolean },
    { block = cloudBlock, access }: { block?: typeof cloudBlock; access?: string } = {},
  ) {
    const { data: workspace } = await server.api('POST', '/organizations/main/workspaces', {
      data: { type: 'workspaces', attributes: { name } },
    })
    await policySet(server, { name, workspaces: [workspace.id], ...set })
    // Without an access the caller is an administrator.
    const member = access && (await createMember(server, `member-${name}`, { workspaceId: workspace.id, access }))
    const token = member ? member.token : ADMIN_TOKEN
    const directory = await terraformDirectory(server, { 'main.tf': block(name) + RESOURCE }, token)
    await directory.ok(['init', '-input=false'])
    return { directory, workspace, lastRun: async () => latestRun(server, workspace.id) }
  }

  async function stageOf(run: { id: string }) {
    return (await server.api('GET', `/runs/${run.id}/task-stages`)).data[0]
  }

  const apply = ['apply', '-auto-approve', '-input=false']

  test('a mandatory policy that fails stops the run and is named', async () => {
    const { directory, lastRun } = await governed('mandatory', {
      policies: [
        { name: 'loud', code: LOUD, description: 'Inputs are in upper case' },
        { name: 'fine', code: 'deny := []' },
      ],
    })

    const result = await directory.run(apply)

    expect(result.code).toBe(1)
    expect(result.all).toContain('OPA Policy Evaluation')
    expect(result.all).toMatch(/Policy set 1: mandatory \(2\)/)
    expect(result.all).toMatch(/Policy name: loud[^]*Inputs are in upper case/)
    expect(result.all).toMatch(/Policy name: fine/)
    expect(result.all).not.toContain('Apply complete')
    const run = await lastRun()
    expect(run.attributes.status).toBe('errored')
    expect(run.attributes['error-message']).toContain('loud')
    expect((await stageOf(run)).attributes.status).toBe('failed')
  })

  test('an advisory policy that fails warns, and the run is applied', async () => {
    const { directory, lastRun } = await governed('advisory', {
      policies: [{ name: 'hushed', level: 'advisory', code: LOUD }],
    })

    const result = await directory.run(apply)

    expect(result.code).toBe(0)
    expect(result.all).toMatch(/Policy name: hushed/)
    expect(result.all).toContain('Apply complete! Resources: 1 added')
    expect((await lastRun()).attributes.status).toBe('applied')
  })

  test('policies that pass are shown, and the run is applied', async () => {
    const { directory } = await governed('passing', { policies: [{ name: 'calm', code: 'deny := []' }] })

    const result = await directory.run(apply)

    expect(result.code).toBe(0)
    expect(result.all).toMatch(/Policy name: calm/)
    expect(result.all).toContain('Apply complete! Resources: 1 added')
  })

  test('a policy that cannot be evaluated stops the run and says why', async () => {
    const { directory, lastRun } = await governed('broken', { policies: [{ name: 'broken', code: 'deny := {' }] })

    const result = await directory.run(apply)

    expect(result.code).toBe(1)
    expect(result.all).not.toContain('Apply complete')
    expect((await lastRun()).attributes.status).toBe('errored')
  })

  test('an overridable policy that fails is overridden at the prompt, and the run applied', async () => {
    const { directory, lastRun } = await governed('overridden', {
      overridable: true,
      policies: [{ name: 'strict', code: LOUD }],
    })

    const running = directory.start(['apply'], { input: { open: true } })
    await running.saw(/Do you want to override the failed policies\?/)
    const waiting = await lastRun()
    running.child.stdin?.write('override\n')
    await running.saw(/Do you want to perform these actions/)
    running.child.stdin?.end('yes\n')
    const result = await running.done

    expect(result.code).toBe(0)
    expect(result.all).toContain('Apply complete! Resources: 1 added')
    expect(waiting.attributes.status).toBe('post_plan_awaiting_decision')
    const run = await lastRun()
    expect(run.attributes.status).toBe('applied')
    const events = await server.api('GET', `/runs/${run.id}/run-events`)
    expect(events.data.map((event: any) => event.attributes.action)).toContain('overrode_policies')
  })

  test('anything but an override at the prompt discards the run', async () => {
    const { directory, lastRun } = await governed('refused', {
      overridable: true,
      policies: [{ name: 'firm', code: LOUD }],
    })

    const result = await directory.run(['apply'], { input: 'no\n' })

    expect(result.code).toBe(1)
    expect(result.all).not.toContain('Apply complete')
    expect((await lastRun()).attributes.status).toBe('discarded')
  })

  test('a caller without the permission to override cannot, and says what the server answered', async () => {
    const { directory, lastRun } = await governed(
      'not-permitted',
      { overridable: true, policies: [{ name: 'guarded', code: LOUD }] },
      { access: 'write' },
    )

    const result = await directory.run(['apply'], { input: 'override\n' })

    expect(result.code).toBe(1)
    expect(result.all).toMatch(/Policy name: guarded/)
    expect(result.all).toContain('Failed to override')
    expect(result.all).not.toContain('Apply complete')
    expect((await lastRun()).attributes.status).toBe('post_plan_awaiting_decision')
  })

  test('the remote backend stops at a mandatory policy, too', async () => {
    const { directory, lastRun } = await governed(
      'remote-backend',
      { policies: [{ name: 'backend', code: LOUD }] },
      { block: remoteBackend },
    )

    const result = await directory.run(apply)

    expect(result.code).toBe(1)
    expect(result.all).not.toContain('Apply complete')
    expect((await lastRun()).attributes.status).toBe('errored')
  })
})
