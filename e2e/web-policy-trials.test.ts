import { expect, test } from 'vitest'
import { testOpa } from '../agent/src/testing/opa.ts'
import { hasBrowser } from './browser.ts'
import { remoteWorkspace, startRun } from './remote-workspaces.ts'
import { readRun, untilRunIs } from './run-progress.ts'
import { ADMIN_TOKEN, type BootedServer } from './server.ts'
import {
  accessFaults,
  bootWebServer,
  createMember,
  layoutFaults,
  openAdminPage,
  openPageOf,
  overflowOf,
  PHONE,
  watchFaults,
} from './web-page.ts'
import { button } from './workspace-page.ts'

const CODE = 'package outputs\n\nimport rego.v1\n\ndeny contains "no outputs on Fridays" if true\n'

/** A set with a mandatory policy that every plan fails, and no workspaces yet. */
async function createSet(server: BootedServer): Promise<string> {
  const policy = await server.api('POST', '/organizations/main/policies', {
    data: {
      type: 'policies',
      attributes: { name: 'outputs', kind: 'opa', query: 'data.outputs.deny', 'enforcement-level': 'mandatory' },
    },
  })
  await fetch(`${server.url}/api/v2/policies/${policy.data.id}/upload`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/octet-stream' },
    body: CODE,
  })
  const set = await server.api('POST', '/organizations/main/policy-sets', {
    data: {
      type: 'policy-sets',
      attributes: { name: 'security', kind: 'opa', overridable: true },
      relationships: { policies: { data: [{ type: 'policies', id: policy.data.id }] } },
    },
  })
  return set.data.id
}

test.skipIf(!hasBrowser)('the page of a set shows which past runs it would have stopped', async () => {
  const opa = testOpa()
  const server = await bootWebServer({ GROUNDSTATE_OPA_PATH: opa.path })
  const workspace = await remoteWorkspace(server, { name: 'web', configuration: 'output "a" { value = 1 }\n' })
  const run = await startRun(server, workspace, { message: 'Add an output' })
  const set = await createSet(server)
  await untilRunIs(server, async () => readRun(server, run), 'applied')
  const page = await openAdminPage(server, `/app/main/policy-sets/${set}?tab=trials`)
  const faults = watchFaults(page)

  await page.getByRole('heading', { name: 'No trials yet' }).waitFor()
  const empty = [...(await layoutFaults(page)), ...(await accessFaults(page))]
  await button(page, 'Evaluate last 30 days').click()
  await page.getByText('No runs in the last 30 days').waitFor({ timeout: 30_000 })
  await server.api('POST', `/policy-sets/${set}/relationships/workspaces`, {
    data: [{ type: 'workspaces', id: workspace.id }],
  })
  await button(page, 'Evaluate last 30 days').click()
  await page.getByText('1 run: 1 would be stopped').waitFor({ timeout: 60_000 })
  const affected = page.getByRole('list', { name: 'Affected runs' })
  await affected.getByText('no outputs on Fridays').waitFor()
  const text = await affected.textContent()
  const full = [...(await layoutFaults(page)), ...(await accessFaults(page))]
  await page.setViewportSize(PHONE)
  const overflow = await overflowOf(page)
  await affected.getByRole('link', { name: 'Add an output' }).click()
  await page.waitForURL(/\/runs\/run-/)
  await createMember(server, 'reader', { workspaceId: workspace.id, access: 'read' })
  const reader = await openPageOf(server, 'reader', `/app/main/policy-sets/${set}?tab=trials`)
  await reader.getByText('Trials require the permission to manage policies.').waitFor()

  expect(text).toContain('Could have been overridden')
  expect([...empty, ...full]).toEqual([])
  expect(overflow).toBe(0)
  expect(faults).toEqual([])
  expect((await readRun(server, run)).attributes.status).toBe('applied')
})
