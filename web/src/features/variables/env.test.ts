import { expect, test } from 'vitest'
import { parseEnv } from './env.ts'

const valueOf = (text: string) => parseEnv(text).map((given) => ('key' in given ? given.value : `! ${given.fault}`))

test.each([
  { text: 'A=b', is: ['b'] },
  { text: 'export A=b', is: ['b'] },
  { text: '  A = b  # why', is: ['b'] },
  { text: 'A=b#c', is: ['b#c'] },
  { text: 'A=', is: [''] },
  { text: 'A="b # c" # d', is: ['b # c'] },
  { text: 'A="b\\n\\"c\\" \\$d"', is: ['b\n"c" $d'] },
  { text: "A='b\\n'", is: ['b\\n'] },
  { text: 'A="b\nc"\nD=e', is: ['b\nc', 'e'] },
  { text: '\uFEFFA=b\r\n# a comment\r\n\r\nC=d\r\n', is: ['b', 'd'] },
  { text: 'A=$OTHER', is: ['$OTHER'] },
  { text: 'A=x=y', is: ['x=y'] },
])('$text is read as $is', ({ text, is }) => {
  expect(valueOf(text)).toEqual(is)
})

test.each([
  { text: 'nonsense', line: 1, fault: /no KEY=value/ },
  { text: 'A=b\nC="d', line: 2, fault: /never closed/ },
  { text: 'A="b" c', line: 1, fault: /“c” stands behind/ },
  { text: 'A=b\nC=d\nA=e', line: 1, fault: /again in line 3/ },
])('$text has a fault in line $line', ({ text, line, fault }) => {
  const faults = parseEnv(text).filter((given) => 'fault' in given)

  expect(faults).toEqual([{ line, fault: expect.stringMatching(fault) as string }])
})
