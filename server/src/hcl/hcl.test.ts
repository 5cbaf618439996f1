import { afterAll, expect, test } from 'vitest'
import { HCL_MAX, createHclParser } from './hcl.ts'

const hcl = createHclParser()
afterAll(() => hcl[Symbol.asyncDispose]())

test('blocks are lists below their labels, and expressions are texts', async () => {
  const text = 'policy "a" {\n  query = "data.a.deny"\n}\npolicy "a" {\n  query = data.b\n}\n'

  const [file] = await hcl.parse([{ path: 'policies.hcl', text }])

  expect(file?.body).toEqual({ policy: { a: [{ query: 'data.a.deny' }, { query: '${data.b}' }] } })
})

test('a syntax error names the line, and the other files are parsed', async () => {
  const files = await hcl.parse([
    { path: 'a.hcl', text: 'policy "a" {' },
    { path: 'b.hcl', text: 'x = 1' },
  ])

  expect(files[0]?.problem).toMatch(/^a\.hcl:1,12-13: Unclosed configuration block/)
  expect(files[1]?.body).toEqual({ x: 1 })
})

test('brackets that are nested too deep are a problem', async () => {
  const [file] = await hcl.parse([{ path: 'a.hcl', text: `x = ${'['.repeat(100_000)}` }])

  expect(file?.problem).toBe('it nests more than 200 brackets')
})

test('an expression that ends the parser is a problem, and later calls are parsed', async () => {
  const deep = `x = ${'!'.repeat(500_000)}true`

  const [first, second] = await Promise.all([
    hcl.parse([
      { path: 'a.hcl', text: 'x = 1' },
      { path: 'deep.hcl', text: deep },
    ]),
    hcl.parse([{ path: 'b.hcl', text: 'x = 1' }]),
  ])

  expect(first).toEqual([
    { path: 'a.hcl', body: { x: 1 } },
    { path: 'deep.hcl', problem: 'the parser failed at deep.hcl: its expressions are nested too deep' },
  ])
  expect(second).toEqual([{ path: 'b.hcl', body: { x: 1 } }])
})

test('the errors of very many lines are cut', async () => {
  const [file] = await hcl.parse([{ path: 'a.hcl', text: 'x = 1 @\n'.repeat(1000) }])

  expect(file?.problem).toMatch(/^a\.hcl:1,7-8: Invalid character/)
  expect(file?.problem?.length).toBe(2000)
})

test('files that are too large together are a problem', async () => {
  const [file] = await hcl.parse([{ path: 'a.hcl', text: '#'.repeat(HCL_MAX + 1) }])

  expect(file?.problem).toMatch(/more than/)
})
