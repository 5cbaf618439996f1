import { describe, expect, test } from 'vitest'
import { hasBrowser, openPage } from './browser.ts'
import { accessFaults, bootWebServer, DESK, overflowOf, PHONE, watchFaults } from './web-page.ts'

describe.skipIf(!hasBrowser)('the API reference in a browser', async () => {
  if (!hasBrowser) return
  const server = await bootWebServer({ GROUNDSTATE_AGENTS: '0' })
  const page = await openPage()
  await page.setViewportSize(DESK)
  const faults = watchFaults(page)
  const elsewhere: string[] = []
  page.on('request', (request) => {
    if (!request.url().startsWith(server.url) && !/^(?:data|blob):/.test(request.url())) elsewhere.push(request.url())
  })

  test('lists each operation and finds one by its path', async () => {
    const { paths } = await server.api('GET', '/openapi.json')
    const count = Object.values<object>(paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0)

    await page.goto(`${server.url}/docs/api`)
    await page.getByText(`${count.toLocaleString('en')} operations`).waitFor()
    const access = await accessFaults(page)
    await page.setViewportSize(PHONE)
    const overflow = await overflowOf(page)
    await page.setViewportSize(DESK)
    await page.getByLabel('Search operations').fill('actions/force-unlock')
    await page.getByText('1 operation', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Force-unlock a workspace' }).click()
    await page.getByRole('heading', { level: 1, name: 'Workspace lock' }).waitFor()
    await expect
      .poll(() => page.evaluate<string>('document.activeElement?.id'))
      .toBe('postWorkspacesByIdActionsForceUnlock')

    expect(access).toEqual([])
    expect(overflow).toBe(0)
  })

  test('describes an operation: permission, parameters, bodies and a call that works', async () => {
    await page.goto(`${server.url}/docs/api#postOrganizationsByOrganizationProjects`)
    const operation = page.getByRole('region', { name: 'Create a project', exact: true })
    await operation.getByText('/api/v2/organizations/{organization}/projects').first().waitFor()
    await operation.getByRole('button', { name: 'data', exact: true }).click()
    await operation.getByRole('button', { name: 'attributes', exact: true }).click()
    await operation.getByText('description', { exact: true }).waitFor()
    await operation.getByRole('button', { name: '201' }).click()
    await operation.getByRole('button', { name: 'data', exact: true }).nth(1).click()
    await operation.getByText('relationships', { exact: true }).first().waitFor()
    const access = await accessFaults(page)
    await page.setViewportSize(PHONE)
    const overflow = await overflowOf(page)
    await page.setViewportSize(DESK)
    const example = (await operation.getByRole('region', { name: 'example of Create a project' }).textContent()) ?? ''
    const body = /--data-binary '([^]*?)' \\\n/.exec(example)?.[1] ?? ''
    const { data } = await server.api(
      'POST',
      '/organizations/main/projects',
      JSON.parse(body.replace('…', 'from-docs')),
    )

    expect(await operation.getByText('Needs the permission').first().textContent()).toContain('organization')
    expect(example).toContain('curl -g --request POST')
    expect(data.attributes.name).toBe('from-docs')
    expect(access).toEqual([])
    expect(overflow).toBe(0)
  })

  test('requests nothing from other hosts and reports no errors', () => {
    expect(elsewhere).toEqual([])
    expect(faults).toEqual([])
  })

  test('has the icon that browsers request for a page without a link to one', async () => {
    const icon = await fetch(`${server.url}/favicon.ico`)

    expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/vnd.microsoft.icon'])
  })
})
