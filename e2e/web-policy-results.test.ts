import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { hasBrowser } from './browser.ts'
import { remoteWorkspace } from './remote-workspaces.ts'
import { ADMIN_TOKEN } from './server.ts'
import { accessFaults, bootWebServer, openAdminPage, overflowOf, PHONE, watchFaults } from './web-page.ts'
import { button } from './workspace-page.ts'

const hasOpa = isOnPath()

function isOnPath() {
  try {
    execFileSync('opa', ['version'], { stdio: 'ignore' })
    return true
  } catch {
    process.stderr.write('opa is not on the PATH: the results of policies are not tested in a browser\n')
    return false
  }
}

const POLICIES = [
  { name: 'fridays', level: 'mandatory', text: 'no outputs on Fridays' },
  { name: 'descriptions', level: 'advisory', text: 'add a description' },
]

test.skipIf(!hasBrowser || !hasOpa)(
  'a failed mandatory policy is shown on the page of a run and overridden',
  async () => {
    const server = await bootWebServer()
    const policies = await Promise.all(
      POLICIES.map(async ({ name, level, text }) => {
        const { data } = await server.api('POST', '/organizations/main/policies', {
          data: {
            type: 'policies',
            attributes: { name, kind: 'opa', query: `data.${name}.deny`, 'enforcement-level': level },
          },
        })
        const response = await fetch(`${server.url}/api/v2/policies/${data.id}/upload`, {
          method: 'PUT',
          headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/octet-stream' },
          body: `package ${name}\n\nimport rego.v1\n\ndeny contains ${JSON.stringify(text)} if true\n`,
        })
        expect(response.status).toBe(200)
        return data.id as string
      }),
    )
    await server.api('POST', '/organizations/main/policy-sets', {
      data: {
        type: 'policy-sets',
        attributes: { name: 'security', kind: 'opa', global: true, overridable: true },
        relationships: { policies: { data: policies.map((id) => ({ type: 'policies', id })) } },
      },
    })
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
  },
)
