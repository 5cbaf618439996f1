import { type Config, isLoopbackHost } from '../config.ts'
import { StartError } from '../start-error.ts'
import {
  type CredentialProvider,
  containerCredentials,
  staticCredentials,
  webIdentityCredentials,
} from './s3-credentials.ts'

/** Addresses of the hosts of Amazon's containers, which may be called without TLS. */
const CONTAINER_HOSTS = new Set(['169.254.170.2', '169.254.170.23', '[fd00:ec2::23]'])

/** Amazon's address of a service in a region. */
export function awsAddress(service: string, region: string) {
  return `https://${service}.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`
}

/** The configured identity for the bucket: access keys, a web identity, or that of the container. Throws a `StartError` if there is none. */
export function configuredCredentials(config: Config): CredentialProvider {
  const { s3AccessKeyId: accessKeyId, s3SecretAccessKey: secretAccessKey, s3SessionToken: sessionToken } = config
  if (accessKeyId !== undefined && secretAccessKey !== undefined)
    return staticCredentials({ accessKeyId, secretAccessKey, sessionToken })
  if (accessKeyId !== undefined || secretAccessKey !== undefined)
    throw new StartError(
      'GROUNDSTATE_S3_ACCESS_KEY_ID and GROUNDSTATE_S3_SECRET_ACCESS_KEY: both must be set, or neither',
    )

  const { awsRoleArn: roleArn, awsWebIdentityTokenFile: tokenFile, awsRoleSessionName: sessionName } = config
  if (roleArn !== undefined && tokenFile !== undefined) {
    const stsEndpoint = config.awsEndpointUrlSts ?? awsAddress('sts', config.s3Region)
    return webIdentityCredentials({ roleArn, tokenFile, sessionName, stsEndpoint })
  }
  if (roleArn !== undefined || tokenFile !== undefined)
    throw new StartError('AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE: both must be set, or neither')

  const url = containerAddress(config)
  if (url !== undefined) {
    const token = config.awsContainerAuthorizationToken
    return containerCredentials({ url, token, tokenFile: config.awsContainerAuthorizationTokenFile })
  }
  throw new StartError('GROUNDSTATE_S3_BUCKET is set, and there are no credentials for it', {
    advice:
      'set GROUNDSTATE_S3_ACCESS_KEY_ID and GROUNDSTATE_S3_SECRET_ACCESS_KEY, or AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE, or ' +
      'AWS_CONTAINER_CREDENTIALS_FULL_URI',
  })
}

function containerAddress(config: Config) {
  const { awsContainerCredentialsFullUri: full, awsContainerCredentialsRelativeUri: path } = config
  if (full === undefined) return path === undefined ? undefined : `http://169.254.170.2${path}`
  const { protocol, hostname } = new URL(full)
  if (protocol === 'https:' || isLoopbackHost(hostname) || CONTAINER_HOSTS.has(hostname)) return full
  throw new StartError(`AWS_CONTAINER_CREDENTIALS_FULL_URI ${full}: without TLS, it must be on this host`)
}
