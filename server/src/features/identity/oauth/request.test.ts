import { describe, expect, test } from 'vitest'
import { responseUrl, authorizeQuery, readAuthorizeRequest } from './request.ts'

const GOOD = {
  client_id: 'terraform-cli',
  redirect_uri: 'http://localhost:10003/login',
  response_type: 'code',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
  state: 'a state, & more',
}

test('a valid request is read, and again from its form', () => {
  const request = {
    redirectUri: GOOD.redirect_uri,
    codeChallenge: GOOD.code_challenge,
    state: GOOD.state,
  }

  expect(readAuthorizeRequest(GOOD)).toEqual({ request })
  expect(readAuthorizeRequest(Object.fromEntries(new URLSearchParams(authorizeQuery(request))))).toEqual({ request })
})

describe('a redirect URI other than the CLI on this machine is rejected', () => {
  test.each([
    undefined,
    'https://evil.example/login',
    'http://localhost:10003/login?next=https://evil.example',
    'http://localhost:10003/other',
    'http://localhost:9999/login',
    'http://localhost:10011/login',
    'http://localhost/login',
    'http://localhost:10003@evil.example/login',
    'http://localhost.evil.example:10003/login',
    'http://LOCALHOST:10003/login',
    ['http://localhost:10003/login', 'http://localhost:10004/login'],
  ])('%j', (redirect_uri) => {
    expect(readAuthorizeRequest({ ...GOOD, redirect_uri })).toHaveProperty('refusal')
  })

  test('another client is rejected', () => {
    expect(readAuthorizeRequest({ ...GOOD, client_id: 'other' })).toHaveProperty('refusal')
  })
})

test.each([
  ['response_type', 'token', 'unsupported_response_type'],
  ['response_type', undefined, 'invalid_request'],
  ['code_challenge', undefined, 'invalid_request'],
  ['code_challenge', 'short', 'invalid_request'],
  ['code_challenge_method', 'plain', 'invalid_request'],
  ['code_challenge_method', undefined, 'invalid_request'],
  ['scope', ['a', 'b'], 'invalid_request'],
])('%s %j is reported to the client as %s', (name, value, error) => {
  const read = readAuthorizeRequest({ ...GOOD, [name]: value })

  const url = new URL('redirect' in read ? read.redirect : 'http://none')
  expect(url.origin + url.pathname).toBe('http://localhost:10003/login')
  expect(url.searchParams.get('error')).toBe(error)
  expect(url.searchParams.get('state')).toBe(GOOD.state)
})

test('a response has no state if the request had none', () => {
  expect(responseUrl({ redirectUri: GOOD.redirect_uri, state: undefined }, { code: 'c' })).toBe(
    'http://localhost:10003/login?code=c',
  )
})
