/*
 * rtl/string.hxx for programs that have OpenOffice's by way of rtl/logfile.hxx: as much of rtl::OString as is used to put
 * together a name or a message. A program that needs more has its own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef _RTL_STRING_HXX_
#define _RTL_STRING_HXX_

#include <sal/types.h>

#ifdef __cplusplus
#include <string>

namespace rtl
{

class OString
{
  public:
    OString() {}
    OString(const sal_Char *text) : text_(text != 0 ? text : "") {}
    OString(const sal_Char *text, sal_Int32 length) : text_(text, static_cast<size_t>(length)) {}
    const sal_Char *getStr() const
    {
        return text_.c_str();
    }
    operator const sal_Char *() const
    {
        return text_.c_str();
    }
    sal_Int32 getLength() const
    {
        return static_cast<sal_Int32>(text_.size());
    }
    sal_Bool equals(const OString &other) const
    {
        return text_ == other.text_;
    }
    OString concat(const OString &other) const
    {
        OString both(*this);
        both.text_ += other.text_;
        return both;
    }
    OString &operator+=(const OString &other)
    {
        text_ += other.text_;
        return *this;
    }
    friend OString operator+(const OString &one, const OString &other)
    {
        return one.concat(other);
    }
    friend sal_Bool operator==(const OString &one, const OString &other)
    {
        return one.equals(other);
    }
    static OString valueOf(sal_Int32 number)
    {
        OString digits;
        sal_Int64 rest = number < 0 ? -static_cast<sal_Int64>(number) : number;
        for (; rest > 0 || digits.text_.empty(); rest /= 10)
            digits.text_.insert(digits.text_.begin(), static_cast<char>('0' + rest % 10));
        if (number < 0)
            digits.text_.insert(digits.text_.begin(), '-');
        return digits;
    }

  private:
    std::string text_;
};

} // namespace rtl
#endif

#endif
