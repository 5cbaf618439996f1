import { expect, test } from 'vitest'
import { hasBrowser } from './browser.ts'
import { opaSettings, policySet } from './policy-sets.ts'
import { remoteWorkspace } from './remote-workspaces.ts'
import { accessFaults, bootWebServer, openAdminPage, overflowOf, PHONE, watchFaults } from './web-page.ts'
import { button } from './workspace-page.ts'

const POLICIES = [
  { name: 'fridays', level: 'mandatory', code: 'deny contains "no outputs on Fridays" if true' },
  { name: 'descriptions', level: 'advisory', code: 'deny contains "add a description" if true' },
] as const

test.skipIf(!hasBrowser)('a failed mandatory policy is shown on the page of a run and overridden', async () => {
  const server = await bootWebServer(opaSettings())
  await policySet(server, { name: 'security', overridable: true, policies: POLICIES })
  const workspace = await remoteWorkspace(server, { name: 'web', configuration: 'output "a" { value = 1 }\n' })
  const { data: run } = await server.api('POST', '/runs', {
    data: {
      type: 'runs',
      attributes: { message: 'Add an output' },
      relationships: {
        workspace: { data: { type: 'workspaces', id: workspace.id } },
        'configuration-version': { data: { type: 'configuration-versions', id: workspace.configurationId } },
      },
    },
  })
  const page = await openAdminPage(server, `/app/main/workspaces/web/runs/${run.id}?part=tasks`)
  const faults = watchFaults(page)

  await page.getByText('no outputs on Fridays', { exact: true }).waitFor({ timeout: 60_000 })
  await page.getByText('needs a decision').first().waitFor()
  const waiting = await accessFaults(page)
  const panel = page.getByRole('complementary', { name: 'Approval' })
  const situation = await panel.textContent()
  await panel.getByRole('button', { name: 'Override policies' }).click()
  await panel.getByLabel('Comment').fill('agreed with the security team')
  await panel.getByRole('button', { name: 'Override policies' }).click()
  await page.getByText('Overridden by admin: agreed with the security team').waitFor()
  await button(page, 'Confirm & apply').first().waitFor()
  const overridden = await accessFaults(page)
  await page.setViewportSize(PHONE)

  expect(situation).toContain('A mandatory policy failed')
  expect(await overflowOf(page)).toBeLessThanOrEqual(0)
  expect([...waiting, ...overridden]).toEqual([])
  expect(faults).toEqual([])
})
