import { describe, expect, test } from 'vitest'
import { cloudBlock, cliHost, firstCommands } from './connect-cli.tsx'

describe('how CLIs reach the server', () => {
  test('over HTTPS, the host has its own name and a login', () => {
    const host = cliHost('https://runs.example.com/')

    expect(host).toMatchObject({ name: 'runs.example.com', hasLogin: true })
    expect(firstCommands(host)).toContain('terraform login runs.example.com')
  })

  test('over plain HTTP, the host has the name that `groundstate exec` assigns, and no login', () => {
    const host = cliHost('http://127.0.0.1:7777/')

    expect(host).toEqual({ name: 'groundstate.local', hasLogin: false, url: 'http://127.0.0.1:7777' })
    expect(firstCommands(host)).toContain('groundstate exec -- terraform init')
  })

  test('under a sub-path, where service discovery does not work, `groundstate exec` is used', () => {
    const host = cliHost('https://example.com/groundstate/')

    expect(host).toEqual({ name: 'groundstate.local', hasLogin: false, url: 'https://example.com/groundstate' })
  })

  test('for a host that a host block does not accept, `groundstate exec` is used', () => {
    expect(cliHost('https://[::1]:8443/').hasLogin).toBe(false)
  })

  test('the block names host, organization and workspace', () => {
    const block = cloudBlock({ host: 'runs.example.com', organization: 'main', workspace: 'kafka' })

    expect(block).toMatch(/hostname {5}= "runs\.example\.com"\n {4}organization = "main"/)
    expect(block).toContain('name = "kafka"')
  })
})
