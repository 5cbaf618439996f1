import type { Locator, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { totpCode } from '../server/src/features/identity/sessions/totp.ts'
import { hasBrowser } from './browser.ts'
import { accessFaults, bootWebServer, createPerson, openPageOf, PASSWORD, signIn, watchFaults } from './web-page.ts'

describe.skipIf(!hasBrowser)('the account', async () => {
  if (!hasBrowser) return
  const server = await bootWebServer()

  /** A user with two-factor authentication. */
  async function enrolled(username: string) {
    const person = await createPerson(server, username)
    const act = async (action: string, body: unknown) =>
      server.api('POST', `/account/two-factor/actions/${action}`, body, person)
    const { data } = await act('enroll', { password: PASSWORD })
    const secret = data.attributes.secret as string
    await act('verify', { otp: totpCode(secret, new Date()) })
    return { secret }
  }

  async function texts(list: Locator) {
    await list.waitFor()
    return list.getByRole('listitem').allTextContents()
  }

  test('a wrong password is rejected; the right one leads to the requested page', async () => {
    await createPerson(server, 'edith')
    const page = await openPageOf(server, 'edith', '/app/settings/tokens?page=1', 'not the password')
    const refusal = await page.getByRole('alert').textContent()

    await signIn(page, 'edith')
    await page.getByRole('heading', { name: 'API tokens' }).waitFor()

    expect(refusal).toContain('password')
    expect(page.url()).toBe(`${server.url}/app/settings/tokens?page=1`)
  })

  test('an account with two-factor authentication signs in with a code', async () => {
    const { secret } = await enrolled('ada')
    const own = await openPageOf(server, 'ada', '/app/settings/tokens')
    const button = own.getByRole('button', { name: 'Sign in' })

    await own.getByText('a code from your authenticator is required').waitFor()
    await own.getByLabel('Authenticator').fill('nonsense')
    await button.click()
    await own.getByText('the code is wrong').waitFor()
    // Enrolling has used the current code; this is the next one.
    await own.getByLabel('Authenticator').fill(totpCode(secret, new Date(Date.now() + 30_000)))
    await button.click()
    await own.getByRole('heading', { name: 'API tokens' }).waitFor()

    expect(new URL(own.url()).pathname).toBe('/app/settings/tokens')
  })

  test('two-factor authentication is enabled with a QR code in the account settings, and disabled there', async () => {
    const { token } = await createPerson(server, 'grace')
    const hasTwoFactor = async () =>
      (await server.api('GET', '/account/details', undefined, { token })).data.attributes['two-factor'].enabled
    const own = await openPageOf(server, 'grace', '/app/settings/account')
    const section = own.getByRole('region', { name: 'Two-factor authentication' })
    const setUp = section.getByRole('button', { name: 'Set up' })
    const off = section.getByRole('group').filter({ hasText: 'Disable' })

    await section.getByLabel('Password').fill('not the password')
    await setUp.click()
    const refusal = await section.getByRole('alert').textContent()
    await section.getByLabel('Password').fill(PASSWORD)
    await setUp.click()
    const secret = (await section.getByLabel('Secret', { exact: true }).textContent()) ?? ''
    await section.getByRole('img', { name: 'QR code' }).waitFor()
    const faults = await accessFaults(own)
    await section.getByLabel('Authenticator').fill(totpCode(secret.replaceAll(' ', ''), new Date()))
    await section.getByRole('button', { name: 'Enable' }).click()
    const [recoveryCode, ...others] = await texts(section.getByRole('list', { name: 'Recovery codes' }))
    const enabled = await hasTwoFactor()
    await own.reload()
    await off.getByText('Disable', { exact: true }).click()
    const codesLater = await section.getByText(recoveryCode ?? '').count()
    await off.getByLabel('Password').fill(PASSWORD)
    await off.getByLabel('Code').fill(recoveryCode ?? '')
    await off.getByRole('button').click()
    await setUp.waitFor()

    expect(refusal).toBe('the current password is wrong')
    expect(faults).toEqual([])
    expect(others).toHaveLength(9)
    expect(enabled).toBe(true)
    expect(codesLater).toBe(0)
    expect(await hasTwoFactor()).toBe(false)
  })

  test('e-mail address, password and sessions are managed in the account settings', async () => {
    await createPerson(server, 'joan')
    const { token } = await createPerson(server, 'mary')
    const ofMary = async (path: string) => (await server.api('GET', path, undefined, { token })).data
    const elsewhere = await openPageOf(server, 'mary', '/app/settings/account')
    await elsewhere.getByRole('heading', { name: 'Profile' }).waitFor()
    const own = await openPageOf(server, 'mary', '/app/settings/account')
    const profile = own.getByRole('region', { name: 'Name and email' })
    const password = own.getByRole('region', { name: 'Password' })
    const sessions = own.getByRole('region', { name: 'Sessions' })

    await profile.getByLabel('Email').fill('joan@example.com')
    await profile.getByRole('button').click()
    // As for any other address, so that nobody learns who has an account.
    await profile.getByText('joan@example.com must be confirmed by an administrator').waitFor()
    await profile.getByLabel('Email').fill('mary@example.org')
    await profile.getByRole('button').click()
    await profile.getByText('mary@example.org must be confirmed by an administrator').waitFor()
    await sessions.getByRole('button', { name: 'End session', exact: true }).click()
    await sessions.getByRole('button', { name: 'End session' }).click()
    await sessions.getByRole('button', { name: 'End session', exact: true }).waitFor({ state: 'detached' })
    await elsewhere.reload()
    await elsewhere.getByLabel('Username or email').waitFor()
    await password.getByLabel('Current password').fill(PASSWORD)
    await password.getByLabel('New password', { exact: true }).fill('a better password')
    await password.getByLabel('Confirm new password').fill('another password')
    await password.getByRole('button').click()
    const mismatch = await password.getByRole('alert').textContent()
    await password.getByLabel('Confirm new password').fill('a better password')
    await password.getByRole('button').click()
    await password.getByText('Password changed.').waitFor()
    const sessionsLeft = await ofMary('/account/sessions')
    await sessions.getByRole('button', { name: 'Sign out everywhere' }).click()
    await sessions.getByRole('group').getByRole('button', { name: 'Sign out everywhere' }).click()
    await own.waitForURL('**/app/sign-in')

    expect(mismatch).toContain("doesn't match")
    expect(sessionsLeft).toHaveLength(1)
    expect(await ofMary('/account/sessions')).toEqual([])
    expect((await ofMary('/account/details')).attributes).toMatchObject({
      email: 'mary@example.com',
      'unconfirmed-email': 'mary@example.org',
    })
  })

  test('a token is shown once, can be copied, is valid and can be revoked', async () => {
    await createPerson(server, 'rosalind')
    const own = await openPageOf(server, 'rosalind', '/app/settings/tokens')
    const faults = watchFaults(own)
    await own.context().grantPermissions(['clipboard-read', 'clipboard-write'])

    await own.getByRole('button', { name: 'New token' }).click()
    await own.getByLabel('Description').fill('my laptop')
    const lifetimes = await own.getByLabel('Expires after').getByRole('option').allTextContents()
    await own.getByLabel('Expires after').selectOption('30 days')
    await own.getByRole('button', { name: 'Create token' }).click()
    await own.getByRole('button', { name: 'Copy the token' }).click()
    const token = await own.evaluate<string>('navigator.clipboard.readText()')
    const { data: account } = await server.api('GET', '/account/details', undefined, { token })
    const access = await accessFaults(own)
    await own.reload()
    const row = own.getByRole('row').filter({ hasText: 'my laptop' })
    const expiry = await row.textContent()
    const shownLater = await own.getByText(token).count()
    await row.getByRole('button', { name: 'Actions for my laptop' }).click()
    await own.getByRole('menuitem', { name: 'Revoke' }).click()
    await row.getByRole('button', { name: 'Revoke token' }).click()
    await row.waitFor({ state: 'detached' })

    expect(lifetimes).toEqual(['30 days', '90 days', '1 year', '2 years (default)'])
    expect(account.attributes.username).toBe('rosalind')
    expect(expiry).toContain('in 30 days')
    expect(shownLater).toBe(0)
    expect(access).toEqual([])
    expect(faults).toEqual([])
    await server.api('GET', '/account/details', undefined, { token, expect: 401 })
  })

  test('a token is rotated: the old one works until it is revoked', async () => {
    const person = await createPerson(server, 'hedy')
    const path = `/users/${person.id}/authentication-tokens`
    const attributes = { description: 'backup', 'expired-at': new Date(Date.now() + 7 * 86_400_000).toISOString() }
    const body = { data: { type: 'authentication-tokens', attributes } }
    const old = (await server.api('POST', path, body, person)).data.attributes.token as string
    const own = await openPageOf(server, 'hedy', '/app/settings/tokens')
    const status = async (token: string, expected: number) =>
      server.api('GET', '/account/details', undefined, { token, expect: expected })

    await own.getByText('in 7 days').waitFor()
    await own.getByRole('button', { name: 'Actions for backup' }).click()
    await own.getByRole('menuitem', { name: 'Rotate' }).click()
    const shown = own.getByRole('region', { name: 'the token' })
    const fresh = (await shown.textContent()) ?? ''
    await status(old, 200)
    await status(fresh, 200)
    await own.getByRole('button', { name: 'Revoke the old token' }).click()
    await own.getByRole('button', { name: 'Revoke old token' }).click()
    await shown.waitFor({ state: 'detached' })

    await status(old, 401)
    const tokens = (await server.api('GET', path, undefined, { token: fresh })).data
    const rotated = tokens.find((token: any) => token.attributes.description === 'backup')
    expect(Date.parse(rotated.attributes['expired-at']) - Date.now()).toBeGreaterThan(6.9 * 86_400_000)
  })

  test('a picture is cropped, shown to others and removed', async () => {
    const { id } = await createPerson(server, 'lise')
    const own = await openPageOf(server, 'lise', '/app/settings/account')
    const faults = watchFaults(own)
    const card = own.getByRole('region', { name: 'Picture' })
    const avatar = async () => (await server.api('GET', `/users/${id}`)).data.attributes['avatar-url'] as string
    const png = Buffer.from(await drawnPicture(own), 'base64')

    await card
      .getByLabel('Picture file')
      .setInputFiles({ name: 'notes.png', mimeType: 'image/png', buffer: Buffer.from('no') })
    await card.getByText('notes.png is not a picture').waitFor()
    await card.getByLabel('Picture file').setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: png })
    await card.getByRole('img', { name: 'The new picture' }).waitFor()
    const access = await accessFaults(own)
    await card.getByRole('button', { name: 'Save picture' }).click()
    await card.getByRole('button', { name: 'Remove picture' }).waitFor()
    const uploaded = await avatar()
    const response = await fetch(uploaded)
    const size = await own.evaluate<number[]>(`(async () => {
      const image = document.querySelector('main img')
      await image.decode()
      return [image.naturalWidth, image.naturalHeight]
    })()`)
    await card.getByRole('button', { name: 'Remove picture' }).click()
    await card.getByRole('button', { name: 'Remove picture' }).waitFor({ state: 'detached' })

    expect(response.headers.get('content-type')).toBe('image/webp')
    expect(size).toEqual([256, 256])
    expect(await avatar()).toContain(`/avatars/${id}.svg`)
    expect(access).toEqual([])
    expect(faults).toEqual([])
  })

  /** A PNG of 400 × 300 pixels, in base64. */
  async function drawnPicture(page: Page) {
    return page.evaluate<string>(`(() => {
      const canvas = Object.assign(document.createElement('canvas'), { width: 400, height: 300 })
      canvas.getContext('2d').fillRect(0, 0, 200, 300)
      return canvas.toDataURL('image/png').split(',')[1]
    })()`)
  }
})
