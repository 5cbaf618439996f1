variable "environment" {
  type        = string
  description = "Part of every name. The workspace has its own value, which wins over that of the variable set."
  default     = "development"
}

variable "subnets" {
  type        = map(object({ cidr = string, public = bool }))
  description = "The subnets by name. Take one out, and the next plan destroys it."
  default     = {}
}

variable "vpn_password" {
  type        = string
  description = "Sensitive: no page and no log shows it."
  sensitive   = true
}

variable "owner" {
  type        = string
  description = "Contact for this configuration. The variable set has it for all workspaces of the project."
  default     = ""
}

variable "cost_center" {
  type        = string
  description = "Given by the environment variable TF_VAR_cost_center."
  default     = ""
}
