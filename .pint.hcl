# For `pint --offline lint deploy/prometheus`: what else is in that folder are no rules.
parser {
  include = ["deploy/prometheus/alerts\\.yaml"]
}
