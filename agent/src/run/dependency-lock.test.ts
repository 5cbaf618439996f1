import { describe, expect, test } from 'vitest'
import { lockedProviders } from './dependency-lock.ts'

const TERRAFORM = `# This file is maintained automatically by "terraform init".
# Manual edits may be lost in future updates.

provider "groundstate.local/acme/dummy" {
  version     = "1.2.0"
  constraints = "~> 1.0"
  hashes = [
    "h1:C/5/l6vDHNVbCdPSkLUQ8ZMlJ7nYUd7Iw2Dk5ZSN1bo=",
    "zh:00b767abbcdb0a8d5a5a1a2b1d6d3d1b6a6b5a58f3c1a6ad9a1b1c2d3e4f5a6b",
  ]
}

provider "registry.terraform.io/hashicorp/null" {
  version = "3.2.4"
  hashes = [
    "h1:127ts0CG8hFk1bHIfrBsKxcnt9bAYQCq3udWM+AACH8=",
  ]
}
`
const TOFU = `# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/hashicorp/random" {
  version     = "3.7.2"
  constraints = ">= 3.0.0"
  hashes = [
    "h1:zTZ9vJtSKFE2GMLNqYBOCXFaAHXdcKUGZlVJ2Qo0tHA=",
  ]
}
`

describe('the providers of a lock file', () => {
  test.each([
    [
      'of terraform',
      TERRAFORM,
      [
        { source: 'groundstate.local/acme/dummy', version: '1.2.0' },
        { source: 'registry.terraform.io/hashicorp/null', version: '3.2.4' },
      ],
    ],
    ['of tofu', TOFU, [{ source: 'registry.opentofu.org/hashicorp/random', version: '3.7.2' }]],
    [
      'with CRLF line ends',
      TOFU.replaceAll('\n', '\r\n'),
      [{ source: 'registry.opentofu.org/hashicorp/random', version: '3.7.2' }],
    ],
    ['on one line', 'provider "a.b/c/d" { version = "1.0.0" }', [{ source: 'a.b/c/d', version: '1.0.0' }]],
    [
      'between comments',
      '/* provider "x/y/z" { version = "9.9.9" } */\n// provider "x/y/z" {\nprovider "a.b/c/d" { # version = "2.0.0"\nversion = "1.0.0" // ok\n}',
      [{ source: 'a.b/c/d', version: '1.0.0' }],
    ],
    [
      'in nested and other blocks are none',
      'x { provider "a/b/c" { version = "1" } }\nmodule "m" { version = "1" }',
      [],
    ],
    [
      'without a literal version are left out',
      'provider "a/b/c" { version = 1 }\nprovider "d/e/f" { version = "${x}" }',
      [],
    ],
    ['that is empty are none', '', []],
    ['that is binary are none', '\0\u{FFFD}"\\{{{}}}}}provider', []],
  ])('%s', (_, text, expected) => {
    expect(lockedProviders(text)).toEqual(expected)
  })

  test.each([
    ['quotes', String.raw`"\"`],
    ['comments', '/*'],
    ['names', 'provider '],
    ['braces', '{'],
  ])('of a hostile file of 2 MiB of %s take linear time', (_, part) => {
    const started = performance.now()

    lockedProviders(part.repeat((2 * 1024 * 1024) / part.length))

    expect(performance.now() - started).toBeLessThan(5_000)
  })
})
