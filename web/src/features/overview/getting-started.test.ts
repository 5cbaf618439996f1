import { expect, test } from 'vitest'
import { cliHost, firstRunLines, signInLines } from '../workspaces/connect-cli.tsx'
import { firstConfiguration } from './getting-started.tsx'

test('with HTTPS, the CLI logs in through the browser', () => {
  const host = cliHost('https://gs.example.com/')

  expect(signInLines(host)).toBe('terraform login gs.example.com')
  expect(firstRunLines(host, 'apply')).toBe('terraform init\nterraform apply')
})

test('without HTTPS, commands run with a token', () => {
  const host = cliHost('http://127.0.0.1:7777/')

  expect(signInLines(host)).toBe('export GROUNDSTATE_URL=http://127.0.0.1:7777\nexport GROUNDSTATE_TOKEN=…')
  expect(firstRunLines(host, 'apply')).toBe('groundstate exec -- terraform init\ngroundstate exec -- terraform apply')
})

test('the example names this server and the organization', () => {
  const host = cliHost('https://gs.example.com/')

  expect(firstConfiguration({ host: host.name, organization: 'acme', workspace: 'web' })).toMatch(
    /hostname += "gs\.example\.com"\n +organization = "acme"[^]+resource "terraform_data"/,
  )
})
