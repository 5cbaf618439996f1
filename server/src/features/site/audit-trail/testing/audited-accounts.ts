import { createHash } from 'node:crypto'
import { createBrowser } from '../../../../testing/browser.ts'
import { addMember } from '../../../../testing/teams.ts'
import { approve } from '../../../identity/oauth/approve.ts'
import { totpCode } from '../../../identity/sessions/totp.ts'
import { type AuditedChange, change, csrfOf, data, formRequest, many, one, SECRET, type World } from './audit-world.ts'

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

/** As a person's browser; a session has no token. */
async function browserOf(w: World) {
  const person = await w.person()
  const { cookie } = await createBrowser(w.app, person.id)
  const headers = { cookie, origin: 'http://groundstate.test' }
  return { person, cookie, as: { token: undefined, headers, by: { id: person.id, tokenId: null } } }
}

/** With a second factor that is on, and a code that has not been used. */
async function withCode(w: World) {
  const { person, secret } = await w.withSecondFactor()
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

async function memberOfOrganization(w: World) {
  const member = await w.person()
  await addMember(w.app, w.organization.id, member)
  const { id } = await w.app.db
    .selectFrom('organization_memberships')
    .select('id')
    .where('user_id', '=', member.id)
    .executeTakeFirstOrThrow()
  return { member, membership: id }
}

async function teamWith(w: World, type: 'users' | 'organization-memberships') {
  const { member, membership } = await memberOfOrganization(w)
  const body = type === 'users' ? { data: [{ type, id: member.username }] } : many(type, membership)
  return { team: await w.team(), body }
}

async function grant(w: World, noun: 'workspace' | 'project') {
  const relationships = {
    team: one('teams', await w.team()),
    [noun]: one(`${noun}s`, await (noun === 'project' ? w.project() : w.workspace())),
  }
  return { body: data(`team-${noun}s`, { access: 'read' }, relationships) }
}

async function granted(w: World, noun: 'workspace' | 'project') {
  return (await w.send('POST', `/team-${noun}s`, (await grant(w, noun)).body)).id as string
}

async function ownOrganization(w: World) {
  const name = w.name('organization')
  await w.send('POST', '/organizations', data('organizations', { name, email: 'a@example.com' }))
  return name
}

const onUser = (action: string, make = async (w: World) => (await w.person()).id) =>
  change(`user ${action}`, async (w) => ({ ids: [await make(w)] }))

/** Who there is and who may do what: teams, members, grants, tokens, accounts, sessions, and the site itself. */
export const ACCOUNTS: Record<string, AuditedChange | string> = {
  'POST /organizations/:organization/teams': change('team create', (w) => ({
    ids: [w.organization.name],
    body: data('teams', { name: w.name('team') }),
  })),
  'PATCH /teams/:teamId': change('team update', async (w) => ({
    ids: [await w.team()],
    body: data('teams', { name: w.name('team') }),
  })),
  'DELETE /teams/:teamId': change('team destroy', async (w) => ({ ids: [await w.team()] })),
  ...members('users'),
  ...members('organization-memberships'),
  'POST /organizations/:organization/organization-memberships': change('organization_user create', (w) => ({
    ids: [w.organization.name],
    body: data('organization-memberships', { email: `${w.name('invited')}@example.com` }),
  })),
  'DELETE /organization-memberships/:membershipId': change('organization_user destroy', async (w) => ({
    ids: [(await memberOfOrganization(w)).membership],
  })),

  'POST /team-workspaces': change('workspace add_team', (w) => grant(w, 'workspace')),
  'PATCH /team-workspaces/:teamWorkspaceId': change('workspace update_team_permissions', async (w) => ({
    ids: [await granted(w, 'workspace')],
    body: data('team-workspaces', { access: 'write' }),
  })),
  'DELETE /team-workspaces/:teamWorkspaceId': change('workspace remove_team', async (w) => ({
    ids: [await granted(w, 'workspace')],
  })),
  'POST /team-projects': change('project add_team', (w) => grant(w, 'project')),
  'PATCH /team-projects/:teamProjectId': change('project update_team_permissions', async (w) => ({
    ids: [await granted(w, 'project')],
    body: data('team-projects', { access: 'write' }),
  })),
  'DELETE /team-projects/:teamProjectId': change('project remove_team', async (w) => ({
    ids: [await granted(w, 'project')],
  })),

  'POST /organizations/:organizationName/authentication-token': change('authentication_token create', async (w) => ({
    ids: [await ownOrganization(w)],
    body: {},
  })),
  'DELETE /organizations/:organizationName/authentication-token': change('authentication_token destroy', async (w) => {
    const name = await ownOrganization(w)
    await w.send('POST', `/organizations/${name}/authentication-token`, {})
    return { ids: [name] }
  }),
  'POST /teams/:teamId/authentication-token': change('authentication_token create', async (w) => ({
    ids: [await w.team()],
    body: {},
  })),
  'DELETE /teams/:teamId/authentication-token': change('authentication_token destroy', async (w) => {
    const team = await w.team()
    await w.send('POST', `/teams/${team}/authentication-token`, {})
    return { ids: [team] }
  }),
  'POST /teams/:teamId/authentication-tokens': change('authentication_token create', async (w) => ({
    ids: [await w.team()],
    body: data('authentication-tokens', { description: 'x' }),
  })),
  'DELETE /organizations/:organizationName/team-tokens': change('authentication_token destroy', async (w) => {
    const body = data('authentication-tokens', { description: 'x' })
    const { id } = await w.send('POST', `/teams/${await w.team()}/authentication-tokens`, body)
    return { ids: [w.organization.name], body: many('authentication-tokens', id) }
  }),
  'POST /users/:userId/authentication-tokens': change('authentication_token create', (w) => ({
    ids: [w.admin.id],
    body: data('authentication-tokens', { description: 'x' }),
  })),
  'POST /agent-pools/:poolId/authentication-tokens': change('authentication_token create', async (w) => ({
    ids: [await w.pool()],
    body: data('authentication-tokens', { description: 'x' }),
  })),
  'DELETE /authentication-tokens/:tokenId': change('authentication_token destroy', async (w) => {
    const body = data('authentication-tokens', { description: 'x' })
    return { ids: [(await w.send('POST', `/users/${w.admin.id}/authentication-tokens`, body)).id] }
  }),

  'PATCH /account/update': change('user update', async (w) => ({
    ...w.by(await w.person()),
    body: data('users', { email: `${w.name('new')}@example.com` }),
  })),
  'PATCH /account/password': change('user change_password', async (w) => {
    const password = `${SECRET}-new`
    const attributes = { current_password: SECRET, password, password_confirmation: password }
    return { ...w.by(await w.person()), body: data('users', attributes) }
  }),
  'DELETE /account/sessions': change('user sign_out_everywhere', async (w) => w.by(await w.person())),
  'DELETE /account/sessions/:sessionId': change('user end_session', async (w) => {
    const { person } = await browserOf(w)
    const [session] = await w.send('GET', '/account/sessions', undefined, person.token)
    return { ...w.by(person), ids: [session.id] }
  }),
  'POST /account/two-factor/actions/enroll': change('user enroll_two_factor', async (w) => ({
    ...w.by(await w.person()),
    body: data('users', { password: SECRET }),
  })),
  'POST /account/two-factor/actions/verify': change('user enable_two_factor', async (w) => {
    const { person, secret } = await w.withSecondFactor()
    return { ...w.by(person), body: data('users', { otp: totpCode(secret, w.app.now()) }) }
  }),
  'POST /account/two-factor/actions/renew-recovery-codes': change('user renew_recovery_codes', withCode),
  'POST /account/two-factor/actions/disable': change('user disable_two_factor', withCode),

  'POST /sessions': change('user sign_in', async (w) => {
    const { id, username } = await w.person()
    const headers = { origin: 'http://groundstate.test' }
    const by = { id, tokenId: null }
    return { token: undefined, headers, by, body: data('sessions', { username, password: SECRET }) }
  }),
  'DELETE /sessions/current': change('user sign_out', async (w) => (await browserOf(w)).as),
  'POST /oauth/sign-in': change('user sign_in', async (w) => {
    const { id, username } = await w.person()
    return { ...formRequest({ query: QUERY, username, password: SECRET }), by: { id, tokenId: null } }
  }),
  'POST /oauth/authorize': 'a consent changes nothing before the command line exchanges its code',
  'POST /oauth/sign-out': change('user sign_out', async (w) => {
    const { cookie, as } = await browserOf(w)
    return { ...formRequest({ query: QUERY, csrf: csrfOf(cookie) }, cookie), by: as.by }
  }),
  'POST /oauth/token': change('authentication_token create', async (w) => {
    const person = await w.person()
    const request = { redirectUri: REDIRECT, codeChallenge: CHALLENGE, state: undefined }
    const url = await approve(w.app.as({ ...person.actor, tokenId: undefined, sessionId: 'ses-x' }), request)
    const form = formRequest({
      grant_type: 'authorization_code',
      client_id: 'terraform-cli',
      code: new URL(url).searchParams.get('code') ?? '',
      code_verifier: VERIFIER,
      redirect_uri: REDIRECT,
    })
    return { ...form, by: { id: person.id, tokenId: null } }
  }),

  'POST /admin/users': change('user create', (w) => {
    const username = w.name('user')
    return { body: data('users', { username, email: `${username}@example.com`, password: SECRET }) }
  }),
  'PATCH /admin/users/:userId': change('user update', async (w) => ({
    ids: [(await w.person()).id],
    body: data('users', { password: `${SECRET}-new` }),
  })),
  'DELETE /admin/users/:userId': onUser('destroy'),
  'POST /admin/users/:userId/actions/suspend': onUser('suspend'),
  'POST /admin/users/:userId/actions/unsuspend': onUser('unsuspend'),
  'POST /admin/users/:userId/actions/grant_admin': onUser('update'),
  'POST /admin/users/:userId/actions/revoke_admin': onUser('update'),
  'POST /admin/users/:userId/actions/disable_two_factor': onUser('disable_two_factor', async (w) => {
    const { person, secret } = await w.withSecondFactor()
    const body = data('users', { otp: totpCode(secret, w.app.now()) })
    await w.send('POST', '/account/two-factor/actions/verify', body, person.token)
    return person.id
  }),
  'PATCH /admin/organizations/:name': change('organization update', async (w) => ({
    ids: [await ownOrganization(w)],
    body: data('organizations', { plan: 'standard' }),
  })),
  'DELETE /admin/organizations/:name': change('organization destroy', async (w) => ({
    ids: [await ownOrganization(w)],
  })),
  'POST /admin/organizations/:name/subscription': change('organization update', async (w) => ({
    ids: [await ownOrganization(w)],
    body: { data: { relationships: { 'feature-set': one('feature-sets', 'fs-standard') } } },
  })),
}

function members(type: 'users' | 'organization-memberships') {
  const path = `/teams/:teamId/relationships/${type}`
  return {
    [`POST ${path}`]: change('team add_member', async (w) => {
      const { team, body } = await teamWith(w, type)
      return { ids: [team], body }
    }),
    [`DELETE ${path}`]: change('team remove_member', async (w) => {
      const { team, body } = await teamWith(w, type)
      await w.send('POST', `/teams/${team}/relationships/${type}`, body)
      return { ids: [team], body }
    }),
  }
}
