import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { createBrowser } from '../../../../testing/browser.ts'
import { createFailedJob } from '../../../../testing/failed-jobs.ts'
import { addMember } from '../../../../testing/teams.ts'
import { approve } from '../../../identity/oauth/service.ts'
import { totpCode } from '../../../identity/sessions/totp.ts'
import { ensureIdentityKey } from '../../../runs/identity-keys/service.ts'
import { type MakeChange, SECRET, type AuditFixtures, csrfOf, data, formRequest, many, one } from './audit-fixtures.ts'

const REDIRECT = 'http://localhost:10000/login'
const VERIFIER = 'v'.repeat(60)
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')
const QUERY = new URLSearchParams({
  client_id: 'terraform-cli',
  redirect_uri: REDIRECT,
  response_type: 'code',
  code_challenge: CHALLENGE,
  code_challenge_method: 'S256',
  state: 'x',
}).toString()

/** As a browser: a session has no token. */
async function browserOf(w: AuditFixtures) {
  const person = await w.person()
  const { cookie } = await createBrowser(w.app, person.id)
  const headers = { cookie, origin: 'http://groundstate.test' }
  return { person, cookie, as: { token: undefined, headers, by: { id: person.id, tokenId: null } } }
}

/** With enabled two-factor authentication and an unused code. */
async function withCode(w: AuditFixtures) {
  const { person, secret } = await w.withTwoFactor()
  await w.send(
    'POST',
    '/account/two-factor/actions/verify',
    data('users', { otp: totpCode(secret, w.app.now()) }),
    person.token,
  )
  w.app.clock.advance(31_000)
  return {
    ...w.by(person),
    usesUp: true,
    body: data('users', { password: SECRET, otp: totpCode(secret, w.app.now()) }),
  }
}

async function memberOfOrganization(w: AuditFixtures) {
  const member = await w.person()
  await addMember(w.app, w.organization.id, member)
  const { id } = await w.app.db
    .selectFrom('organization_memberships')
    .select('id')
    .where('user_id', '=', member.id)
    .executeTakeFirstOrThrow()
  return { member, membership: id }
}

async function invited(w: AuditFixtures) {
  const body = data('organization-memberships', { email: `${w.name('invited')}@example.com` })
  const { id } = await w.send('POST', `/organizations/${w.organization.name}/organization-memberships`, body)
  const { attributes } = await w.send('POST', `/organization-memberships/${id}/actions/resend-invitation`)
  return { membership: id as string, secret: new URL(attributes.url).hash.slice(1) }
}

async function teamWith(w: AuditFixtures, type: 'users' | 'organization-memberships') {
  const { member, membership } = await memberOfOrganization(w)
  const body = type === 'users' ? { data: [{ type, id: member.username }] } : many(type, membership)
  return { team: await w.team(), body }
}

async function grant(w: AuditFixtures, noun: 'workspace' | 'project') {
  const relationships = {
    team: one('teams', await w.team()),
    [noun]: one(`${noun}s`, await (noun === 'project' ? w.project() : w.workspace())),
  }
  return { body: data(`team-${noun}s`, { access: 'read' }, relationships) }
}

async function granted(w: AuditFixtures, noun: 'workspace' | 'project') {
  return (await w.send('POST', `/team-${noun}s`, (await grant(w, noun)).body)).id as string
}

async function ownOrganization(w: AuditFixtures) {
  const name = w.name('organization')
  await w.send('POST', '/organizations', data('organizations', { name, email: 'a@example.com' }))
  return name
}

async function organizationWithToken(w: AuditFixtures) {
  const name = await ownOrganization(w)
  await w.send('POST', `/organizations/${name}/authentication-token`, {})
  return name
}

async function teamWithToken(w: AuditFixtures) {
  const team = await w.team()
  await w.send('POST', `/teams/${team}/authentication-token`, {})
  return team
}

const failedJob: MakeChange = async ({ app }) => ({ ids: [await createFailedJob(app)] })

const onPerson: MakeChange = async (w) => ({ ids: [(await w.person()).id] })

/** Accounts and access: teams, members, grants, tokens, accounts, sessions, and the site. */
export const ACCOUNTS: Record<string, MakeChange> = {
  'POST /organizations/:organization/teams': (w) => ({
    ids: [w.organization.name],
    body: data('teams', { name: w.name('team') }),
  }),
  'PATCH /teams/:teamId': async (w) => ({
    ids: [await w.team()],
    body: data('teams', { name: w.name('team') }),
  }),
  'DELETE /teams/:teamId': async (w) => ({ ids: [await w.team()] }),
  ...members('users'),
  ...members('organization-memberships'),
  'POST /organizations/:organization/organization-memberships': (w) => ({
    ids: [w.organization.name],
    body: data('organization-memberships', { email: `${w.name('invited')}@example.com` }),
  }),
  'DELETE /organization-memberships/:membershipId': async (w) => ({
    ids: [(await memberOfOrganization(w)).membership],
  }),

  'POST /organization-memberships/:membershipId/actions/resend-invitation': async (w) => ({
    ids: [(await invited(w)).membership],
  }),
  'POST /invitations/actions/accept': async (w) => {
    const person = await w.person()
    // As for an account whose address nobody has confirmed.
    await w.app.db.updateTable('users').set({ email: null }).where('id', '=', person.id).execute()
    const { secret, membership } = await invited(w)
    await w.app.db
      .updateTable('organization_memberships')
      .set((eb) => ({ mailed_invitation_hash: eb.ref('invitation_hash'), invitation_hash: null }))
      .where('id', '=', membership)
      .execute()
    return { ...w.by(person), body: data('invitations', { secret }) }
  },
  'POST /invitations/actions/register': async (w) => {
    const { secret } = await invited(w)
    const by = { id: expect.stringMatching(/^user-/) as string, tokenId: null }
    return { token: undefined, by, body: data('invitations', { secret, username: w.name('new'), password: SECRET }) }
  },

  'POST /team-workspaces': (w) => grant(w, 'workspace'),
  'PATCH /team-workspaces/:teamWorkspaceId': async (w) => ({
    ids: [await granted(w, 'workspace')],
    body: data('team-workspaces', { access: 'write' }),
  }),
  'DELETE /team-workspaces/:teamWorkspaceId': async (w) => ({
    ids: [await granted(w, 'workspace')],
  }),
  'POST /team-projects': (w) => grant(w, 'project'),
  'PATCH /team-projects/:teamProjectId': async (w) => ({
    ids: [await granted(w, 'project')],
    body: data('team-projects', { access: 'write' }),
  }),
  'DELETE /team-projects/:teamProjectId': async (w) => ({
    ids: [await granted(w, 'project')],
  }),

  'POST /organizations/:organizationName/authentication-token': async (w) => ({
    ids: [await organizationWithToken(w)],
    body: {},
  }),
  'DELETE /organizations/:organizationName/authentication-token': async (w) => ({
    ids: [await organizationWithToken(w)],
  }),
  'POST /teams/:teamId/authentication-token': async (w) => ({ ids: [await teamWithToken(w)], body: {} }),
  'DELETE /teams/:teamId/authentication-token': async (w) => ({ ids: [await teamWithToken(w)] }),
  'POST /teams/:teamId/authentication-tokens': async (w) => ({
    ids: [await w.team()],
    body: data('authentication-tokens', { description: 'x' }),
  }),
  'DELETE /organizations/:organizationName/team-tokens': async (w) => {
    const body = data('authentication-tokens', { description: 'x' })
    const { id } = await w.send('POST', `/teams/${await w.team()}/authentication-tokens`, body)
    return { ids: [w.organization.name], body: many('authentication-tokens', id) }
  },
  'POST /users/:userId/authentication-tokens': (w) => ({
    ids: [w.admin.id],
    body: data('authentication-tokens', { description: 'x' }),
  }),
  'POST /agent-pools/:poolId/authentication-tokens': async (w) => ({
    ids: [await w.pool()],
    body: data('authentication-tokens', { description: 'x' }),
  }),
  'DELETE /authentication-tokens/:tokenId': async (w) => {
    const body = data('authentication-tokens', { description: 'x' })
    return { ids: [(await w.send('POST', `/users/${w.admin.id}/authentication-tokens`, body)).id] }
  },

  'PATCH /account/update': async (w) => ({
    ...w.by(await w.person()),
    body: data('users', { email: `${w.name('new')}@example.com` }),
  }),
  'PUT /account/avatar': async (w) => ({
    ...w.by(await w.person()),
    // The header of a PNG with 256 × 256 pixels.
    body: Buffer.from('89504e470d0a1a0a0000000d494844520000010000000100', 'hex'),
  }),
  'DELETE /account/avatar': async (w) => w.by(await w.person()),
  'PATCH /account/password': async (w) => {
    const password = `${SECRET}-new`
    const attributes = { current_password: SECRET, password, password_confirmation: password }
    return { ...w.by(await w.person()), body: data('users', attributes) }
  },
  'DELETE /account/sessions': async (w) => w.by(await w.person()),
  'DELETE /account/sessions/:sessionId': async (w) => {
    const { person } = await browserOf(w)
    const [session] = await w.send('GET', '/account/sessions', undefined, person.token)
    return { ...w.by(person), ids: [session.id] }
  },
  'POST /account/two-factor/actions/enroll': async (w) => ({
    ...w.by(await w.person()),
    body: data('users', { password: SECRET }),
  }),
  'POST /account/two-factor/actions/verify': async (w) => {
    const { person, secret } = await w.withTwoFactor()
    return { ...w.by(person), body: data('users', { otp: totpCode(secret, w.app.now()) }) }
  },
  'POST /account/two-factor/actions/renew-recovery-codes': withCode,
  'POST /account/two-factor/actions/disable': withCode,

  'POST /sessions': async (w) => {
    const { id, username } = await w.person()
    const headers = { origin: 'http://groundstate.test' }
    const by = { id, tokenId: null }
    return { token: undefined, headers, by, body: data('sessions', { username, password: SECRET }) }
  },
  'POST /password-resets/actions/set-password': async (w) => {
    const { id } = await w.person()
    const { attributes } = await w.send('POST', `/admin/users/${id}/actions/reset_password`)
    const secret = new URL(attributes.url).hash.slice(1)
    return { token: undefined, by: { id, tokenId: null }, body: data('password-resets', { secret, password: SECRET }) }
  },
  'DELETE /sessions/current': async (w) => (await browserOf(w)).as,
  'POST /oauth/sign-in': async (w) => {
    const { id, username } = await w.person()
    return { ...formRequest({ query: QUERY, username, password: SECRET }), by: { id, tokenId: null } }
  },
  'POST /oauth/sign-out': async (w) => {
    const { cookie, as } = await browserOf(w)
    return { ...formRequest({ query: QUERY, csrf: csrfOf(cookie) }, cookie), by: as.by }
  },
  'POST /oauth/token': async (w) => {
    const { person } = await browserOf(w)
    const [session] = await w.send('GET', '/account/sessions', undefined, person.token)
    const request = { redirectUri: REDIRECT, codeChallenge: CHALLENGE, state: undefined }
    const url = await approve(w.app.as({ ...person.actor, tokenId: undefined, sessionId: session.id }), request)
    const form = formRequest({
      grant_type: 'authorization_code',
      client_id: 'terraform-cli',
      code: new URL(url).searchParams.get('code') ?? '',
      code_verifier: VERIFIER,
      redirect_uri: REDIRECT,
    })
    return { ...form, by: { id: person.id, tokenId: null } }
  },

  'POST /admin/users': (w) => {
    const username = w.name('user')
    return { body: data('users', { username, email: `${username}@example.com`, password: SECRET }) }
  },
  'PATCH /admin/users/:userId': async (w) => ({
    ids: [(await w.person()).id],
    body: data('users', { password: `${SECRET}-new` }),
  }),
  'DELETE /admin/users/:userId': onPerson,
  'POST /admin/users/:userId/actions/suspend': onPerson,
  'POST /admin/users/:userId/actions/unsuspend': onPerson,
  'POST /admin/users/:userId/actions/grant_admin': onPerson,
  'POST /admin/users/:userId/actions/revoke_admin': onPerson,
  'POST /admin/users/:userId/actions/reset_password': onPerson,
  'POST /admin/users/:userId/actions/disable_two_factor': async (w) => {
    const { person, secret } = await w.withTwoFactor()
    const body = data('users', { otp: totpCode(secret, w.app.now()) })
    await w.send('POST', '/account/two-factor/actions/verify', body, person.token)
    return { ids: [person.id] }
  },
  'PATCH /admin/organizations/:name': async (w) => ({
    ids: [await ownOrganization(w)],
    body: data('organizations', { plan: 'standard' }),
  }),
  'DELETE /admin/organizations/:name': async (w) => ({
    ids: [await ownOrganization(w)],
  }),
  'PATCH /admin/sign-in-settings': () => ({ body: data('sign-in-settings', { name: 'Example ID' }) }),
  'POST /admin/failed-jobs/actions/retry': failedJob,
  'POST /admin/failed-jobs/actions/discard': failedJob,
  'POST /admin/failed-jobs/:jobId/actions/retry': failedJob,
  'POST /admin/failed-jobs/:jobId/actions/discard': failedJob,
  'POST /admin/identity-keys/actions/rotate': async (w) => {
    await resetIdentityKeys(w)
    return {}
  },
  'POST /admin/identity-keys/:keyId/actions/activate': async (w) => {
    await resetIdentityKeys(w)
    const { id } = await w.send('POST', '/admin/identity-keys/actions/rotate')
    // Services have read the key since.
    await w.app.db
      .updateTable('identity_keys')
      .set({ created_at: new Date(w.app.now().getTime() - 3_600_000) })
      .execute()
    return { ids: [id] }
  },
  'POST /admin/organizations/:name/subscription': async (w) => ({
    ids: [await ownOrganization(w)],
    body: { data: { relationships: { 'feature-set': one('feature-sets', 'fs-standard') } } },
  }),
}

/** Leaves one key, so that the next rotation is allowed. */
async function resetIdentityKeys({ app }: AuditFixtures) {
  await app.db.deleteFrom('identity_keys').execute()
  await ensureIdentityKey(app)
}

function members(type: 'users' | 'organization-memberships'): Record<string, MakeChange> {
  const path = `/teams/:teamId/relationships/${type}`
  return {
    [`POST ${path}`]: async (w) => {
      const { team, body } = await teamWith(w, type)
      return { ids: [team], body }
    },
    [`DELETE ${path}`]: async (w) => {
      const { team, body } = await teamWith(w, type)
      await w.send('POST', `/teams/${team}/relationships/${type}`, body)
      return { ids: [team], body }
    },
  }
}
