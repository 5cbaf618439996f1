import { describe, expect, test } from 'vitest'
import { groupsOf, usernameOf, verifiedEmail } from './claims.ts'

describe('the address', () => {
  test.each([
    ['verified', { email: 'a@example.com', email_verified: true }, 'a@example.com'],
    ['verified, as text', { email: 'a@example.com', email_verified: 'true' }, 'a@example.com'],
    ['verified by Entra', { email: 'a@example.com', xms_edov: true }, 'a@example.com'],
    ['not verified', { email: 'a@example.com', email_verified: false }, undefined],
    ['without email_verified', { email: 'a@example.com' }, undefined],
    [
      'the placeholder of the first administrator',
      { email: 'Admin@Localhost.localdomain', email_verified: true },
      undefined,
    ],
    ['no address', { email: 'a b', email_verified: true }, undefined],
  ])('%s', (_, claims, expected) => {
    expect(verifiedEmail(claims)).toBe(expected)
  })
})

describe('the username', () => {
  test.each([
    [{ preferred_username: 'ada', email: 'x@example.com' }, 'ada'],
    [{ preferred_username: 'ada.l@corp.example' }, 'ada.l'],
    [{ email: 'grace@example.com' }, 'grace'],
    [{ name: 'José Ñandú' }, 'Jose-Nandu'],
    [{ preferred_username: 'api-api-team' }, 'team'],
    [{ preferred_username: '@@@', name: '' }, 'user'],
    [{ preferred_username: 'a'.repeat(90) }, 'a'.repeat(50)],
  ])('%j', (claims, expected) => {
    expect(usernameOf(claims)).toBe(expected)
  })
})

describe('the groups', () => {
  test.each([
    ['a list', { groups: ['a', 'b', 3, ''] }, ['a', 'b']],
    ['a single group', { groups: 'a' }, ['a']],
    ['none', {}, []],
    ['too many for Entra', { _claim_names: { groups: 'src1' } }, undefined],
  ])('%s', (_, claims, expected) => {
    expect(groupsOf(claims, 'groups')).toEqual(expected)
  })

  test('inside another claim', () => {
    expect(groupsOf({ realm_access: { roles: ['a'] } }, 'realm_access.roles')).toEqual(['a'])
    expect(groupsOf({ 'https://example.com/groups': ['b'] }, 'https://example.com/groups')).toEqual(['b'])
  })
})
