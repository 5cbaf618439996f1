/** Searches of runs by the beginning of a commit's SHA. */
export const up = `
create index ingress_attributes_commit_idx on ingress_attributes (commit_sha text_pattern_ops);
`
