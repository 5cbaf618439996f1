import { execFileSync, spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import {
  CommandRequestMessage,
  type KeyPair,
  NodeStream,
  SshAlgorithms,
  type SshAuthenticatingEventArgs,
  SshAuthenticationType,
  type SshChannel,
  SshExtendedDataType,
  SshServerSession,
  SshSessionConfiguration,
} from '@microsoft/dev-tunnels-ssh'
import { onTestFinished } from 'vitest'
import { temporaryDirectory } from './agent-fixture.ts'

/** A key pair as `ssh-keygen` creates it. */
export async function makeSshKey() {
  const file = join(await temporaryDirectory(), 'key')
  execFileSync('ssh-keygen', ['-q', '-t', 'ecdsa', '-N', '', '-C', '', '-f', file])
  const [, publicKey = ''] = (await readFile(`${file}.pub`, 'utf8')).split(' ')
  return { privateKey: await readFile(file, 'utf8'), publicKey: publicKey.trim() }
}

export const makeHostKey = async (): Promise<KeyPair> => {
  const algorithm = SshAlgorithms.publicKey['ecdsaSha2Nistp256']
  if (!algorithm) throw new Error('the SSH library has no ECDSA')
  return algorithm.generateKeyPair()
}

export type SshServerOptions = {
  /** The key that may connect, as in `authorized_keys`. */
  publicKey: string
  hostKey: KeyPair
  port?: number
  /** Whether the environment of the client counts: without, git speaks its first protocol. */
  acceptsEnvironment?: boolean
}

/** Serves the repositories of a directory through ssh to one key, as `git@127.0.0.1`, until the end of the test. */
export async function serveSsh(
  root: string,
  { publicKey, hostKey, port = 0, acceptsEnvironment = true }: SshServerOptions,
) {
  const commands: { username: string; command: string }[] = []

  async function authenticate({ authenticationType, publicKey: offered, username }: SshAuthenticatingEventArgs) {
    const isKey =
      authenticationType === SshAuthenticationType.clientPublicKey ||
      authenticationType === SshAuthenticationType.clientPublicKeyQuery
    const bytes = isKey ? await offered?.getPublicKeyBytes() : undefined
    return bytes?.toString('base64') === publicKey ? { username } : null
  }

  function runCommand(channel: SshChannel, command: string, version: string) {
    const [, service, path = ''] = /^git-(upload-pack) '([^']*)'$/.exec(command) ?? []
    if (service === undefined) return void channel.close(127)
    const git = spawn('git', [service, '--', join(root, path)], {
      env: { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', GIT_PROTOCOL: version },
    })
    git.stdin.on('error', () => {})
    channel.onDataReceived((data) => {
      git.stdin.write(data)
      channel.adjustWindow(data.length)
    })
    channel.onEof(() => git.stdin.end())
    channel.onClosed(() => git.kill())
    const send = async () => {
      for await (const chunk of git.stdout) await channel.send(chunk as Buffer)
      for await (const chunk of git.stderr) await channel.sendExtendedData(SshExtendedDataType.STDERR, chunk as Buffer)
    }
    const sent = send()
    git.once('close', (code) => {
      void sent.then(
        () => channel.close(code ?? 1),
        () => channel.close(1),
      )
    })
  }

  const server = createServer((socket) => {
    socket.on('error', () => {})
    const session = new SshServerSession(new SshSessionConfiguration())
    session.credentials = { publicKeys: [hostKey] }
    let username = ''
    session.onAuthenticating((event) => {
      username = event.username ?? ''
      event.authenticationPromise = authenticate(event)
    })
    session.onChannelOpening(({ channel }) => {
      let version = ''
      channel.onRequest((event) => {
        event.isAuthorized = event.requestType === 'exec' || (event.requestType === 'env' && acceptsEnvironment)
        if (event.requestType === 'env' && acceptsEnvironment) version = 'version=2'
        if (event.requestType !== 'exec') return
        const { command = '' } = event.request.convertTo(new CommandRequestMessage())
        commands.push({ username, command })
        runCommand(channel, command, version)
      })
    })
    session.connect(new NodeStream(socket)).catch(() => {})
    onTestFinished(() => session.dispose())
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()))
  onTestFinished(() => void server.close())
  return { port: (server.address() as AddressInfo).port, commands, close }
}
