import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { createGate, gatedPlan, gatedProvisioner } from './gate.ts'
import { remoteWorkspace, startRun } from './remote-workspaces.ts'
import { logOf, readRun, until, untilRunIs } from './run-progress.ts'
import { type BootedServer, bootServer } from './server.ts'
import { cloudBlock, hasTerraform, remoteBackend, terraformDirectory } from './terraform.ts'

let server: BootedServer
let directory: string
beforeAll(async () => {
  if (!hasTerraform) return
  server = await bootServer({ GROUNDSTATE_CONCURRENCY: '4' })
  directory = await mkdtemp(join(tmpdir(), 'gs-renames-'))
  // Runs execute as dedicated users.
  await chmod(directory, 0o755)
  atEnd(() => rm(directory, { recursive: true, force: true }))
})

async function untilStatus(id: string, wanted: string) {
  await untilRunIs(server, async () => readRun(server, id), wanted)
}

const OUTPUT =
  'output "workspace" { value = terraform.workspace }\nresource "terraform_data" "kept" { input = terraform.workspace }\n'

/** An apply that blocks until the file exists. */
const gatedApply = (file: string) => `
resource "terraform_data" "gated" {
  ${gatedProvisioner(file)}
}
`

async function organization(name: string) {
  await server.api('POST', '/organizations', {
    data: { type: 'organizations', attributes: { name, email: 'ops@example.com' } },
  })
}

async function rename(type: 'workspaces' | 'organizations' | 'projects', path: string, name: string) {
  await server.api('PATCH', path, { data: { type, attributes: { name } } })
}

async function newWorkspace(name: string, place: string, attributes: object = {}) {
  await server.api('POST', `/organizations/${place}/workspaces`, {
    data: { type: 'workspaces', attributes: { name, ...attributes } },
  })
}

async function move(workspaceId: string, projectId: string) {
  const relationships = { project: { data: { type: 'projects', id: projectId } } }
  await server.api('PATCH', `/workspaces/${workspaceId}`, { data: { type: 'workspaces', relationships } })
}

async function resourcesOf(workspaceId: string) {
  const { data } = await server.api('GET', `/workspaces/${workspaceId}/resources`)
  return data.map((resource: any) => resource.attributes.name).sort()
}

describe.skipIf(!hasTerraform).concurrent('a rename', { timeout: 40_000 }, () => {
  test('of the workspace between plan and apply', async () => {
    const workspace = await remoteWorkspace(server, { name: 'before', configuration: OUTPUT })
    const run = await startRun(server, workspace, { 'auto-apply': false })
    await untilStatus(run, 'planned')

    await rename('workspaces', `/workspaces/${workspace.id}`, 'after')
    await newWorkspace('before', 'main')
    await server.api('POST', `/runs/${run}/actions/apply`, {})

    await untilStatus(run, 'applied')
    expect(await resourcesOf(workspace.id)).toEqual(['kept'])
    await untilStatus(await startRun(server, workspace), 'applied')
  })

  test('of the project between plan and apply, and a move to another project', async () => {
    const project = async (name: string) =>
      (await server.api('POST', '/organizations/main/projects', { data: { type: 'projects', attributes: { name } } }))
        .data
    const [first, second] = [await project('first'), await project('second')]
    const configuration = `${OUTPUT}variable "TFC_PROJECT_NAME" {}\noutput "project" { value = var.TFC_PROJECT_NAME }`
    const workspace = await remoteWorkspace(server, { name: 'moved', configuration })
    await move(workspace.id, first.id)
    const run = await startRun(server, workspace, { 'auto-apply': false })
    await untilStatus(run, 'planned')

    await rename('projects', `/projects/${first.id}`, 'first-renamed')
    await move(workspace.id, second.id)
    await server.api('POST', `/runs/${run}/actions/apply`, {})

    await untilStatus(run, 'applied')
    expect(await resourcesOf(workspace.id)).toEqual(['kept'])
  })

  test('of the organization between plan and apply', async () => {
    await organization('first-name')
    const workspace = await remoteWorkspace(server, { name: 'kept', organization: 'first-name', configuration: OUTPUT })
    const run = await startRun(server, workspace, { 'auto-apply': false })
    await untilStatus(run, 'planned')

    await rename('organizations', '/organizations/first-name', 'second-name')
    await organization('first-name')
    await newWorkspace('kept', 'first-name')
    await server.api('POST', `/runs/${run}/actions/apply`, {})

    await untilStatus(run, 'applied')
    expect(await resourcesOf(workspace.id)).toEqual(['kept'])
    await untilStatus(await startRun(server, workspace), 'planned_and_finished')
  })

  test('of the workspace and its organization during a plan, and again during its apply', async () => {
    await organization('plan-org')
    const [gate, file] = [await createGate(), join(directory, 'middle.open')]
    const configuration = `${gatedPlan(gate)}${OUTPUT}${gatedApply(file)}`
    const workspace = await remoteWorkspace(server, { name: 'middle', organization: 'plan-org', configuration })
    const run = await startRun(server, workspace)
    await gate.reached
    await rename('workspaces', `/workspaces/${workspace.id}`, 'middle-2')
    await rename('organizations', '/organizations/plan-org', 'plan-org-2')
    gate.open()

    await until(async () => (await logOf(server, run, 'apply')).includes('at the gate'))
    await rename('workspaces', `/workspaces/${workspace.id}`, 'middle-3')
    await rename('organizations', '/organizations/plan-org-2', 'plan-org-3')
    await writeFile(file, '')

    await untilStatus(run, 'applied')
    expect(await resourcesOf(workspace.id)).toEqual(['gate', 'gated', 'kept'])
  })

  test.each([
    { backend: 'cloud', block: cloudBlock },
    { backend: 'remote', block: remoteBackend },
  ])(
    'of the workspace in the middle of an apply of the command line with the $backend backend',
    async ({ backend, block }) => {
      const file = join(directory, `${backend}.open`)
      const configuration = await terraformDirectory(server, {
        'main.tf': `${block(`cli-${backend}`)}${OUTPUT}${gatedApply(file)}`,
      })
      await configuration.ok(['init', '-input=false'])
      const running = configuration.start(['apply', '-auto-approve'])
      await running.saw('at the gate')
      const { data } = await server.api('GET', `/organizations/main/workspaces/cli-${backend}`)

      await rename('workspaces', `/workspaces/${data.id}`, `cli-${backend}-renamed`)
      await writeFile(file, '')
      const { all } = await running.done

      expect(all).toContain('Apply complete! Resources: 2 added')
      expect(await resourcesOf(data.id)).toEqual(['gated', 'kept'])
    },
  )
})
