/** Where the body of a request for a task says something that is refused. */
export const AGENT_POOL = '/data/relationships/agent-pool/data/id'
export const IS_GLOBAL = '/data/attributes/global-configuration/enabled'
export const IS_ENABLED = '/data/attributes/enabled'
export const URL_POINTER = '/data/attributes/url'
