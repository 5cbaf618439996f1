import { expect, test } from 'vitest'
import { ruleOf } from './form.tsx'

test.each([
  ['url is "": URL can\'t be blank', "URL can't be blank"],
  ['username is "a \\"b\\": c": username may only contain letters', 'Username may only contain letters'],
  ['password is invalid (value not shown): too short', 'Too short'],
  ['name is "x"; it must be one of "a", "b"', 'It must be one of "a", "b"'],
  ['max-concurrent-jobs is -1; it must be at least 1', 'It must be at least 1'],
  ['expired-at is 2020-01-31T12:00:00.000Z; it must be in the future', 'It must be in the future'],
  ['targets has 1001 items; it must have at most 1000', 'It must have at most 1000'],
  ['client-id is missing: the id of this server', 'This value is missing: the id of this server'],
  ["oauth-token-username can't be blank: it is the user", "This value can't be blank: it is the user"],
  ["Name can't be blank", "Name can't be blank"],
  ['"nonsense" is not a URL', '"nonsense" is not a URL'],
  ['the issuer is unreachable: refused', 'the issuer is unreachable: refused'],
])('a field shows the rule of %s', (detail, rule) => {
  expect(ruleOf(detail)).toBe(rule)
})
