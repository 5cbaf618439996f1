import { chromium, type Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { createIdentityProvider } from '../server/src/testing/identity-provider.ts'
import { ADMIN_TOKEN, bootServer } from './server.ts'

const provider = await createIdentityProvider()
const server = await bootServer({ ...provider.settings, GROUNDSTATE_PASSWORD_SIGN_IN: 'false' })
provider.serve(server.url)
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
atEnd(() => browser.close())

async function openPage(): Promise<Page> {
  const context = await browser.newContext({ baseURL: server.url })
  return context.newPage()
}

test('a new user signs in with the provider and reaches the requested page', async () => {
  provider.people.set('ada', { preferred_username: 'ada', email: 'ada@example.com', email_verified: true, groups: [] })
  provider.choose('ada')
  const page = await openPage()

  await page.goto('/app/settings/tokens')
  await page.getByRole('link', { name: /Example ID/ }).click()
  await page.getByRole('heading', { name: 'API tokens' }).waitFor()

  expect(new URL(page.url()).pathname).toBe('/app/settings/tokens')
  const cookies = await page.context().cookies(server.url)
  expect(cookies.find(({ name }) => name === 'groundstate_session')).toMatchObject({ httpOnly: true, sameSite: 'Lax' })
  const { data } = await server.api('GET', '/admin/users?q=ada')
  expect(data).toHaveLength(1)
})

test('membership of a group at the provider grants access to the organization', async () => {
  await server.api('POST', '/organizations', {
    data: { type: 'organizations', attributes: { name: 'analytical', email: 'a@example.com' } },
  })
  await server.api('POST', '/organizations/analytical/teams', {
    data: { type: 'teams', attributes: { name: 'engineers' } },
  })
  provider.people.set('grace', { preferred_username: 'grace', groups: ['engineers'] })
  provider.choose('grace')
  const page = await openPage()

  await page.goto('/app')
  await page.getByRole('link', { name: /Example ID/ }).click()

  await page.getByRole('heading', { name: 'analytical' }).waitFor()
  // The only organization that they see.
  expect(new URL(page.url()).pathname).toBe('/app/analytical')
})

test('a user who denies consent at the provider sees an error and can retry', async () => {
  provider.choose(undefined)
  const page = await openPage()

  await page.goto('/app/sign-in')
  await page.getByRole('link', { name: /Example ID/ }).click()
  await page.getByText('Sign-in failed').waitFor()
  await page.getByRole('link', { name: 'Back to sign-in' }).click()
  await page.getByRole('link', { name: /Example ID/ }).waitFor()

  expect(new URL(page.url()).pathname).toBe('/app/sign-in')
})

test('passwords are neither requested nor accepted when they are disabled', async () => {
  const page = await openPage()

  await page.goto('/app/sign-in')
  await page.getByRole('link', { name: /Example ID/ }).waitFor()

  expect(await page.getByLabel('Password').count()).toBe(0)
  const attributes = { username: 'admin', password: 'anything' }
  const body = { data: { type: 'sessions', attributes } }
  await server.api('POST', '/sessions', body, { token: ADMIN_TOKEN, expect: 403 })
})
