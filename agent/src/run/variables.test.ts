import { expect, test } from 'vitest'
import { declaredInHcl, declaredInJson } from './variables.ts'

test('variable blocks are found regardless of their content', () => {
  const text = `
variable "a" {}
variable b {
  type    = object({ x = string })
  default = { x = "}" }
}
  variable   "c-d" { default = "\${upper("}{")} $\${ %%{ \\" }" }
variable "e" {
  ephemeral = true
}
variable "f" {
  validation { condition = true }
  description = <<-EOT
    variable "in_heredoc" {
    EOT
}
variable "g" { default = 1 }
`

  const declared = declaredInHcl(text)

  expect([...declared.keys()]).toEqual(['a', 'b', 'c-d', 'e', 'f', 'g'])
  expect([...declared].filter(([, { ephemeral }]) => ephemeral).map(([name]) => name)).toEqual(['e'])
})

test('text that resembles a variable block is ignored', () => {
  const text = `
# variable "a" {}
// variable "b" {}
/* variable "c" {
*/
locals {
  d = "variable \\"d\\" {}"
  variable = { x = 1 }
  e = <<EOT
variable "e" {}
EOT
}
resource "x" "variable" {
  variable "f" {}
}
`

  expect([...declaredInHcl(text).keys()]).toEqual([])
})

test('an invalid file declares the variables before the error', () => {
  expect([...declaredInHcl('variable "a" {}\noutput "x" { value = "').keys()]).toEqual(['a'])
})

test('JSON declares variables by object or list', () => {
  const object = JSON.stringify({ variable: { a: {}, b: { ephemeral: true } } })
  const list = JSON.stringify([{ variable: [{ c: [{ type: 'string' }] }, { d: {} }] }, { locals: { x: 1 } }])

  expect([...declaredInJson(object)]).toEqual([
    ['a', { ephemeral: false }],
    ['b', { ephemeral: true }],
  ])
  expect([...declaredInJson(list).keys()]).toEqual(['c', 'd'])
  expect([...declaredInJson('{ not json').keys()]).toEqual([])
})
