/** The trace of the request that created a run, so that its phases and deliveries continue it on other servers and agents. */
export const up = `
-- W3C Trace Context; null if the request was not traced
alter table runs add column traceparent text;
`
