import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { hasBrowser } from './browser.ts'
import type { BootedServer } from './server.ts'
import { bootWebServer, createMember, layoutFaults, openAdminPage, openPageOf, watchFaults } from './web-page.ts'
import { button, openTab, region } from './workspace-page.ts'

let server: BootedServer
let page: Page
let faults: string[]

beforeAll(async () => {
  if (!hasBrowser) return
  server = await bootWebServer()
  page = await openAdminPage(server, '/app/main')
  faults = watchFaults(page)
})

describe.skipIf(!hasBrowser)('the identity of a workspace', () => {
  test('its subject, credentials and trust policies are shown, and a token is previewed', async () => {
    const { data: workspace } = await server.api('POST', '/organizations/main/workspaces', {
      data: { type: 'workspaces', attributes: { name: 'network' } },
    })
    const setVariable = async (key: string, value: string) =>
      server.api('POST', `/workspaces/${workspace.id}/vars`, {
        data: { type: 'vars', attributes: { key, value, category: 'env' } },
      })
    const subject = (phase: string) => `organization:main:project:Default Project:workspace:network:run_phase:${phase}`
    await openTab(page, server, 'network', '/settings')
    await page.getByRole('link', { name: 'Workload identity' }).first().click()
    await page.getByText(/is a private address, which no cloud can reach/).waitFor()
    await page.getByRole('heading', { name: 'No credentials yet' }).waitFor()
    const subjects = [
      await page.getByRole('region', { name: 'the subject of plans' }).textContent(),
      await page.getByRole('region', { name: 'the subject of applies' }).textContent(),
    ]
    const empty = await layoutFaults(page)

    await setVariable('TFC_AWS_PROVIDER_AUTH', 'true')
    await page
      .getByText(/will fail: .*TFC_AWS_/)
      .first()
      .waitFor()
    const broken = await layoutFaults(page)
    await setVariable('TFC_AWS_RUN_ROLE_ARN', 'arn:aws:iam::123456789012:role/terraform')
    const credentials = region(page, 'Credentials')
    await credentials.getByRole('cell', { name: 'aws.workload.identity' }).waitFor()
    await credentials
      .getByText(/will fail/)
      .first()
      .waitFor({ state: 'detached' })
    const policy = await page.getByRole('region', { name: 'Trust policy of the role' }).textContent()
    const tabs = page.getByRole('navigation', { name: 'Trust policies' }).getByRole('link')
    const layouts: string[] = []
    for (const name of await tabs.allTextContents()) {
      await tabs.filter({ hasText: name }).click()
      await page.locator('[aria-current=page]', { hasText: name }).waitFor()
      layouts.push(...(await layoutFaults(page)).map((fault) => `${name}: ${fault}`))
    }
    const shared = new URL(page.url()).search

    await page.getByText('Claims of every token').click()
    await page.getByRole('table', { name: 'Claims of tokens' }).getByText('terraform_workspace_id').waitFor()
    await page.getByLabel('Phase').selectOption('apply')
    await button(page, 'Preview token').click()
    const claims = JSON.parse((await page.getByRole('region', { name: 'the claims' }).textContent()) ?? '')
    const previewed = await layoutFaults(page)

    expect(subjects).toEqual([subject('plan'), subject('apply')])
    expect(policy).toContain('arn:aws:iam::123456789012:oidc-provider/')
    expect(policy).toContain(subject('apply'))
    expect(shared).toBe('?tab=token')
    expect(claims).toMatchObject({ sub: subject('apply'), aud: 'aws.workload.identity', terraform_run_phase: 'apply' })
    expect([...empty, ...broken, ...layouts, ...previewed]).toEqual([])
    expect(faults).toEqual([])
  })

  test('members who may not read variables are not offered it', async () => {
    const { data: workspace } = await server.api('GET', '/organizations/main/workspaces/network')
    await createMember(server, 'outsider', { workspaceId: workspace.id, access: 'custom' })
    const shown = await openPageOf(server, 'outsider', '/app/main/workspaces/network/settings')
    const sections = shown.getByRole('navigation', { name: 'Workspace settings' })
    await sections.getByRole('link', { name: 'Notifications' }).waitFor()

    expect(await sections.getByRole('link', { name: 'Workload identity' }).count()).toBe(0)
  })
})

describe.skipIf(!hasBrowser)('identity keys', () => {
  test('a site administrator rotates them, and sees when the new key signs', async () => {
    await page.getByRole('link', { name: 'Administration' }).click()
    await page.getByRole('link', { name: 'Identity keys' }).click()
    const rows = page.getByRole('table', { name: 'Identity keys' }).getByRole('row')
    await page.getByText('served by this server').waitFor()
    const [before] = (await server.api('GET', '/admin/identity-keys')).data
    const single = await layoutFaults(page)

    await button(page, 'Rotate').click()
    await button(page, 'Rotate keys').click()
    await rows.nth(1).getByText('Next').waitFor()
    const texts = await rows.allTextContents()
    const reasons = [
      await button(page, 'Rotate').getAttribute('data-tooltip'),
      await button(page, 'Activate').getAttribute('data-tooltip'),
    ]
    const rotated = await layoutFaults(page)

    const keys = (await server.api('GET', '/admin/identity-keys')).data
    expect(keys.map(({ attributes }: { attributes: { state: string } }) => attributes.state)).toEqual([
      'next',
      'current',
    ])
    expect(texts[1]).toContain('signs tomorrow')
    expect(texts[2]).toContain(before.attributes['key-id'])
    expect(texts[2]).toContain('stops signing tomorrow')
    expect(reasons).toEqual([
      'a new key is published already and does not sign yet',
      'services may still cache the keys without it for some minutes',
    ])
    expect([...single, ...rotated]).toEqual([])
    expect(faults).toEqual([])
  })

  test('with an issuer elsewhere, a new key waits until its documents are published there', async () => {
    const external = await bootWebServer({ GROUNDSTATE_ISSUER_URL: 'https://issuer.invalid/groundstate' })
    const shown = await openAdminPage(external, '/app/admin/identity-keys')
    await shown.getByText('https://issuer.invalid/groundstate').waitFor()

    await button(shown, 'Rotate').click()
    await button(shown, 'Rotate keys').click()
    await shown.getByText('A new key waits.').waitFor()
    await shown.getByText('groundstate identity export').last().waitFor()
    const waiting = await layoutFaults(shown)
    await button(shown, 'Activate').click()
    await button(shown, 'Activate key').click()
    await shown.getByRole('alert').getByText('issuer.invalid/groundstate/.well-known/jwks cannot be read').waitFor()
    const refused = await layoutFaults(shown)
    await shown.getByLabel('Activate it even if the issuer does not have it').check()
    await button(shown, 'Activate key').click()
    await shown.getByText('A new key waits.').waitFor({ state: 'detached' })

    const keys = (await external.api('GET', '/admin/identity-keys')).data
    expect(keys.map(({ attributes }: { attributes: { state: string } }) => attributes.state)).toEqual([
      'current',
      'previous',
    ])
    expect([...waiting, ...refused]).toEqual([])
  })
})
