import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { remoteWorkspace, startRun } from './remote-workspaces.ts'
import { readRun, untilRunIs } from './run-progress.ts'
import { type BootedServer, bootServer } from './server.ts'
import { hasTerraform } from './terraform.ts'

let server: BootedServer

beforeAll(async () => {
  if (hasTerraform) server = await bootServer()
})

async function currentState(workspaceId: string) {
  const { data } = await server.api('GET', `/workspaces/${workspaceId}/current-state-version?include=outputs`)
  const load = async (url: string) => Buffer.from(await (await fetch(url)).arrayBuffer())
  return {
    data,
    raw: await load(data.attributes['hosted-state-download-url']),
    json: JSON.parse((await load(data.attributes['hosted-json-state-download-url'])).toString()),
  }
}

async function applyIn(name: string, configuration: string) {
  const workspace = await remoteWorkspace(server, { name, configuration })
  const run = await startRun(server, workspace)
  return { workspace, run }
}

describe.skipIf(!hasTerraform)('the state that an engine stores', () => {
  test('matches what was announced and uploaded', async () => {
    const configuration = `
      resource "terraform_data" "x" { input = "kept" }
      output "x" { value = terraform_data.x.output }`

    const { workspace, run } = await applyIn('stored-at-once', configuration)
    await untilRunIs(server, async () => readRun(server, run), 'applied')

    const { data, raw, json } = await currentState(workspace.id)
    const state = JSON.parse(raw.toString())
    expect(data.attributes).toMatchObject({
      status: 'finalized',
      serial: state.serial,
      lineage: state.lineage,
      md5: createHash('md5').update(raw).digest('hex'),
      size: raw.length,
      intermediate: false,
      'resources-processed': true,
      'resource-count': 1,
      'hosted-json-state-upload-url': null,
      'terraform-version': state.terraform_version,
    })
    expect(data.relationships.run.data).toEqual({ id: run, type: 'runs' })
    expect(data.relationships.outputs.data).toHaveLength(1)
    expect(json.values.outputs.x.value).toBe('kept')
  })

  test('is stored even if it exceeds the memory buffer', async () => {
    const configuration = `
      resource "terraform_data" "x" { input = format("%05000000d", 1) }`

    const { workspace, run } = await applyIn('stored-large', configuration)
    await untilRunIs(server, async () => readRun(server, run), 'applied')

    const { data, raw, json } = await currentState(workspace.id)
    expect(raw.length).toBeGreaterThan(4 * 1024 * 1024)
    expect(data.attributes).toMatchObject({ status: 'finalized', size: raw.length })
    expect(json.values.root_module.resources).toHaveLength(1)
  })
})
