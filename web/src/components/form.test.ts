import { expect, test } from 'vitest'
import { ruleOf } from './form.tsx'

test.each([
  ['url is "": URL can\'t be blank', "URL can't be blank"],
  ['username is "a \\"b\\": c": username may only contain letters', 'Username may only contain letters'],
  ['password is invalid (value not shown): too short', 'Too short'],
  ['name is "x"; it must be one of "a", "b"', 'It must be one of "a", "b"'],
  ['"nonsense" is not a URL', '"nonsense" is not a URL'],
  ['the issuer is unreachable: refused', 'the issuer is unreachable: refused'],
])('a field shows the rule of %s', (detail, rule) => {
  expect(ruleOf(detail)).toBe(rule)
})
