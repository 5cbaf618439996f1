import { expect, test } from 'vitest'
import { USER } from '../agent/src/testing/git-server.ts'
import { hasBrowser } from './browser.ts'
import { IDENTIFIER, startGitea } from './gitea.ts'
import { bootWebServer, layoutFaults, openAdminPage, watchFaults } from './web-page.ts'
import { button, region } from './workspace-page.ts'

const POLICIES = 'policy "strict" {\n  query             = "data.strict.deny"\n  enforcement_level = "mandatory"\n}\n'

test.skipIf(!hasBrowser)('a module and a policy set are published from a repository in the browser', async () => {
  const server = await bootWebServer()
  const gitea = await startGitea()
  gitea.repository.commit({ 'modules/network/main.tf': 'variable "cidr" {}\n', 'README.md': 'all modules' })
  gitea.repository.git('tag', 'network-v1.0.0')
  await server.api('POST', '/organizations/main/oauth-clients', {
    data: {
      type: 'oauth-clients',
      attributes: {
        name: 'Team Gitea',
        'service-provider': 'gitea',
        'http-url': gitea.url,
        'oauth-token-username': USER.username,
        'oauth-token-string': USER.password,
      },
    },
  })
  const page = await openAdminPage(server, '/app/main/registry')
  const faults = watchFaults(page, ['422 '])
  const selectRepository = async () => {
    await page.getByLabel('Connection').selectOption({ label: 'Team Gitea' })
    await button(page, 'Select repository').click()
    await page.getByPlaceholder('acme/network').fill(IDENTIFIER)
    await page.getByRole('option', { name: IDENTIFIER }).click()
  }

  await button(page, 'Publish module').first().click()
  await page.getByRole('radio', { name: 'Repository' }).check()
  // Before the connections are loaded there is nothing to submit.
  await page.getByLabel('Connection').waitFor()
  await button(page, 'Publish').click()
  await page.getByText('Select a connection and a repository.').waitFor()
  await selectRepository()
  await button(page, 'Publish').click()
  await page
    .getByText(/terraform-<provider>-<name>/)
    .first()
    .waitFor()
  const refused = await layoutFaults(page)
  await page.getByLabel('Tag prefix (optional)').fill('network-')
  await page.getByLabel('Directory (optional)').fill('modules/network')
  await page.getByLabel('Name (optional)').fill('network')
  await page.getByLabel('Provider (optional)').fill('aws')
  await button(page, 'Publish').click()
  await page.getByRole('link', { name: 'Versions' }).click()
  const publications = region(page, 'Publications')
  await publications.getByText('1.0.0').waitFor()
  const published = await layoutFaults(page)

  gitea.repository.commit({ 'modules/network/main.tf': 'variable "zone" {}\n' })
  gitea.repository.git('tag', 'network-v1.1.0')
  await publications.getByRole('button', { name: 'Resync' }).click()
  await publications.getByText('1.1.0').waitFor()
  const resynced = await layoutFaults(page)
  await page.goto(`${server.url}/app/main/registry/modules/network/aws?tab=inputs`)
  await page.getByText('zone').first().waitFor()

  gitea.repository.commit({ 'policies/policies.hcl': POLICIES, 'policies/strict.rego': 'package strict\n' })
  await page.goto(`${server.url}/app/main/policies?new=true`)
  await page.getByRole('textbox', { name: 'Name' }).fill('security')
  await page.getByRole('radio', { name: 'Repository' }).check()
  await selectRepository()
  await page.getByLabel('Directory (optional)').fill('policies')
  await button(page, 'Create policy set').click()
  await page.getByRole('table', { name: 'Versions of security' }).getByText('in use').waitFor()
  const set = await layoutFaults(page)

  expect([refused, published, resynced, set].flat()).toEqual([])
  expect(faults).toEqual([])
  expect(gitea.unexpected).toEqual([])
})
